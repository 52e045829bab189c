"""What is suggested: a list or record of a page as rules that were tried on it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal["list", "table", "data", "feed", "page"]
"""Where items are: repeated elements, rows of a table, JSON of the page, a feed, or the page as one item."""


class Field(msgspec.Struct, frozen=True):
    """A field of the items, with what the page has for it."""

    name: str
    rule: Any
    """The rule as a task file writes it."""
    samples: tuple[Any, ...] = ()
    """Its values in the first items, as the rule and its steps give them."""
    coverage: float = 0.0
    """Share of the items that have a value."""


class Suggestion(msgspec.Struct, frozen=True):
    """One way to read a page. Selectors, samples and coverage come from running the rules on the page."""

    name: str
    kind: Kind
    items: Any
    """The rule that finds the items; None: the page is one item."""
    fields: tuple[Field, ...]
    count: int
    """Items on the page."""
    score: float
    """Between 0 and 1; comparable only on one page."""
    reasons: tuple[str, ...]
    pagination: dict[str, Any] | None = None
    details: str | None = None
    """Name of the field whose links lead to a page of each item."""
    pipeline: tuple[dict[str, Any], ...] = ()
    """Steps for the items, where a step of one rule is not enough."""


class Draft(msgspec.Struct, frozen=True):
    """A suggestion that has not been tried yet."""

    kind: Kind
    items: Any
    fields: dict[str, Any]
    score: float
    reasons: tuple[str, ...]
    details: str | None = None
    pipeline: tuple[dict[str, Any], ...] = ()
