"""Mask secrets in the headers and URLs of tasks, for principals who may not change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.access import Principal
from smartspider.core.redaction import Redactor
from smartspider.core.tasks import TaskRecord
from smartspider.services.tasks.spec_diff import SpecChange

BY_NAME = frozenset({"headers", "body", "meta", "sinks"})
"""Keys of a task below which names decide what is secret; elsewhere only URLs contain secrets."""


def may_see_secrets(principal: Principal, task: TaskRecord) -> bool:
    """True if the principal may change the task."""
    return principal.may("tasks", "write") and principal.owns(task.owner)


def mask_secrets(spec: bytes) -> bytes:
    """Return a task as JSON with its secrets masked."""
    return msgspec.json.encode(_mask(msgspec.json.decode(spec), Redactor()))


def mask_changes(changes: Sequence[SpecChange]) -> list[SpecChange]:
    """Return changes with their secrets masked."""
    redactor = Redactor()
    return [
        msgspec.structs.replace(
            one,
            before=_mask_at(one.path, one.before, redactor),
            after=_mask_at(one.path, one.after, redactor),
        )
        for one in changes
    ]


def _mask_at(path: str, value: Any, redactor: Redactor) -> Any:
    """Mask the value at a path of a task."""
    parts = [part.partition("[")[0] for part in path.split(".")]
    for index, part in enumerate(parts):
        if part in BY_NAME:
            name = ".".join(parts[index + 1 :])
            return redactor.fields({name: value})[name] if name else redactor.value(value)
    return _mask(value, redactor)


def _mask(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.text(value) if "://" in value else value
        case list():
            return [_mask(one, redactor) for one in value]
        case dict():
            return {
                name: redactor.value(one) if name in BY_NAME else _mask(one, redactor)
                for name, one in value.items()
            }
        case _:
            return value
