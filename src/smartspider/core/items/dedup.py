"""Deduplication of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import content_fingerprint

_encode = msgspec.json.Encoder(order="sorted").encode


class ItemDedup(msgspec.Struct, frozen=True):
    """The item part of a task's `dedup`. Items that share any key are duplicates."""

    keys: tuple[tuple[str, ...], ...] = ()
    """Tuples of field names; an empty tuple is the whole item. Without keys items are not compared."""
    scope: Literal["run", "task"] = "run"
    keep: Literal["first", "last"] = "first"
    update: tuple[str, ...] = ()
    """Fields of the kept item that a later duplicate overwrites, such as counters that grow."""

    def keys_of(self, item: Item) -> tuple[bytes, ...]:
        """Return the fingerprints that identify an item. A key whose fields are all null is skipped."""
        found = []
        for number, fields in enumerate(self.keys):
            values = [item.get(field) for field in fields] if fields else item
            if not fields or any(value is not None for value in values):
                found.append(content_fingerprint(b"%d:" % number + _encode(values)))
        return tuple(found)


def unique_keys(steps: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """Return the keys of a pipeline's `unique` steps, with the field names at the end of the pipeline; an
    empty key is the whole item.
    """
    keys: list[tuple[str, ...]] = []
    for step in steps:
        if step.get("enabled") is False:
            continue
        if step["use"] == "unique":
            keys.append(tuple(step.get("fields") or ()))
        elif step["use"] == "rename":
            to, fields = step.get("to"), step.get("fields") or ()
            names = to if isinstance(to, dict) else dict.fromkeys(fields, to)
            keys = [tuple(str(names.get(name, name)) for name in key) for key in keys]
    return tuple(dict.fromkeys(keys))
