"""The fields of a run's items, and whether any stored row has a value in them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.pages.extraction import Item

EMPTY: tuple[object, ...] = (None, "", [], {})
"""Values that count as none."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, bool]).decode


def decode_fields(stored: bytes | None) -> dict[str, bool]:
    """Return the fields, and whether a row has a value."""
    return {} if stored is None else _decode(stored)


class FilledFields:
    """Follows which fields have a value. Once all of them have one, a page costs next to nothing."""

    def __init__(self, stored: bytes | None) -> None:
        self.stored = stored
        self._filled = decode_fields(stored)
        self._empty = {name for name, is_filled in self._filled.items() if not is_filled}

    def record(self, items: Sequence[Item]) -> None:
        """Record the fields of stored items. Items of a page have the same fields."""
        if not items:
            return
        fields = items[0].keys()
        new = fields - self._filled.keys()
        if not new and not self._empty:
            return
        for name in (name for name in fields if name in new):
            self._filled[name] = False
            self._empty.add(name)
        found = {name for name in self._empty if any(item.get(name) not in EMPTY for item in items)}
        self._empty -= found
        self._filled.update(dict.fromkeys(found, True))
        if new or found:
            self.stored = _encode(self._filled)
