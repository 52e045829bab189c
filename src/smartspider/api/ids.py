"""Ids in paths: opaque strings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

TaskId = Annotated[str, Path(max_length=200, description="The id of a task, or its name.")]
RunId = Annotated[str, Path(max_length=40, description="The id of a run.")]
Id = Annotated[str, Path(max_length=40, description="An id.")]
