"""A task for people who may look at it but not change it, without the secrets in its headers and URLs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.access import Principal
from smartspider.core.redaction import Redactor
from smartspider.core.tasks import TaskRecord
from smartspider.services.tasks.spec_diff import SpecChange

BY_NAME = frozenset({"headers", "body", "meta", "sinks"})
"""Parts of a task where the names of things tell whether they are secret; elsewhere only URLs hold any."""


def may_see_secrets(principal: Principal, task: TaskRecord) -> bool:
    """Whether somebody sees a task with its secrets: who may change it put them there."""
    return principal.may("tasks", "write") and principal.owns(task.owner)


def mask_secrets(spec: bytes) -> bytes:
    """A task as JSON, without the secrets in it."""
    return msgspec.json.encode(_hidden(msgspec.json.decode(spec), Redactor()))


def mask_changes(changes: Sequence[SpecChange]) -> list[SpecChange]:
    """Changes without the secrets in them."""
    redactor = Redactor()
    return [
        msgspec.structs.replace(
            one, before=_at(one.path, one.before, redactor), after=_at(one.path, one.after, redactor)
        )
        for one in changes
    ]


def _at(path: str, value: Any, redactor: Redactor) -> Any:
    """What stands at a path of a task."""
    parts = [part.partition("[")[0] for part in path.split(".")]
    for place, part in enumerate(parts):
        if part in BY_NAME:
            name = ".".join(parts[place + 1 :])
            return redactor.fields({name: value})[name] if name else redactor.value(value)
    return _hidden(value, redactor)


def _hidden(value: Any, redactor: Redactor) -> Any:
    match value:
        case str():
            return redactor.text(value) if "://" in value else value
        case list():
            return [_hidden(one, redactor) for one in value]
        case dict():
            return {
                name: redactor.value(one) if name in BY_NAME else _hidden(one, redactor)
                for name, one in value.items()
            }
        case _:
            return value
