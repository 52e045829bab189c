"""Task files as they are sent: keys and values, or text that is parsed when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.core.errors import TaskInvalid


class TaskDocument:
    """A task file from a request body: read but not validated, or the reason it cannot be read."""

    def __init__(self, document: object, error: TaskInvalid | None = None) -> None:
        self._document = document
        self._error = error

    def value(self) -> object:
        """Return the document; raise `TaskInvalid`."""
        if self._error is not None:
            raise self._error
        return self._document


TaskSource = Mapping[str, Any] | str | bytes | msgspec.Raw | TaskDocument


def read_task_source(task: TaskSource) -> object:
    """Return the keys and values of a task; raise `TaskInvalid` for text that cannot be read."""
    if isinstance(task, TaskDocument):
        return task.value()
    if isinstance(task, Mapping):
        return task
    from smartspider.taskfile.document import read_document

    text = task if isinstance(task, str) else bytes(task).decode("utf-8-sig")
    return read_document(text, "task.json" if text.lstrip().startswith(("{", "[")) else "task.yaml")
