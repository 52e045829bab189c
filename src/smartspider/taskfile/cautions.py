"""What a task may do and its owner should know: said when it is checked and when it is started."""

from __future__ import annotations

from smartspider.core.errors import Problem
from smartspider.taskfile.model import Task

LOSSY = (
    "a Bloom filter takes some new URLs for known ones, fewer than one in 10,000 (0.01 %),"
    " and their pages are missed"
)


def cautions(task: Task) -> list[Problem]:
    """A problem that stops nothing for each such key."""
    if task.dedup.urls == "bloom":
        return [Problem("dedup.urls", LOSSY, "leave it out to miss none")]
    return []
