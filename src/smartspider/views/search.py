"""Answers of the search."""

from __future__ import annotations

from typing import Literal

import msgspec

SearchKind = Literal["task", "run", "schedule", "host", "node", "user", "token"]


class SearchHit(msgspec.Struct, frozen=True):
    """An object whose name or id matches. `path` is its URL in the API."""

    kind: SearchKind
    id: str
    title: str
    detail: str
    path: str
