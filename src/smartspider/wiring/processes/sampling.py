"""Samples of other processes, and memory that is shared with them."""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from pathlib import Path

from smartspider.core.workers import activity
from smartspider.core.workers.watch import ProcessSample

VARIABLE = "SMARTSPIDER_ACTIVITY_FD"
"""Names the file descriptor of the memory that a child process shares."""

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGESIZE")


def open_memory() -> tuple[int, mmap.mmap]:
    """Return memory for the activity of a child process, and the file descriptor that the child inherits."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("smartspider-activity")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    os.ftruncate(handle, activity.SIZE)
    return handle, mmap.mmap(handle, activity.SIZE)


def share_inherited() -> None:
    """Share the activity of this process with the parent that started it, if that asked for it."""
    text = os.environ.pop(VARIABLE, "")
    if text:
        handle = int(text)
        activity.share(mmap.mmap(handle, activity.SIZE))
        os.close(handle)


def sample(pid: int, memory: mmap.mmap) -> ProcessSample:
    """Return a sample of a process; where the system does not tell, its CPU time and memory are 0."""
    now, doing = time.monotonic(), activity.decode(memory)
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        )
        cpu_s = (int(fields[11]) + int(fields[12])) * _TICK_S
        return ProcessSample(now, doing, cpu_s, int(fields[21]) * _PAGE, fields[0])
    except (OSError, IndexError, ValueError):
        return ProcessSample(now, doing)
