"""Ids in paths: opaque strings outside, numbers inside."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from smartspider.core.errors import NotFound

TaskId = Annotated[str, Path(max_length=200, description="The id of a task, or its name.")]
RunId = Annotated[str, Path(max_length=40, description="The id of a run.")]
Id = Annotated[str, Path(max_length=40, description="An id.")]


def number(id_: str, what: str) -> int:
    """The number behind an id; what is no number belongs to nothing."""
    if not id_.isascii() or not id_.isdecimal() or len(id_) > 18:
        raise NotFound(f"there is no {what} {id_[:40]!r}")
    return int(id_)
