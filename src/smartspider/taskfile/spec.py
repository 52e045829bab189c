"""A task as it is kept."""

from __future__ import annotations

import hashlib
import json

from smartspider.core.tasks import TaskSpec
from smartspider.taskfile.model import Task


def spec_of(task: Task) -> TaskSpec:
    """The task as JSON, defaults left out, with its hash; also of a task that cannot be run yet."""
    written = task.as_written()
    return TaskSpec(
        name=task.name,
        spec=_json(written, is_sorted=False),
        spec_hash=hashlib.sha256(_json(written, is_sorted=True)).hexdigest(),
    )


def _json(document: object, *, is_sorted: bool) -> bytes:
    """The spec keeps the order of fields, which is the order of columns; its hash does not depend on it."""
    return json.dumps(document, ensure_ascii=False, sort_keys=is_sorted, separators=(",", ":")).encode()
