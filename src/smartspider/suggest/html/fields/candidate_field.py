"""A possible field of the items of a list."""

from __future__ import annotations

from smartspider.suggest.html.fields.attributes import LINK_ATTRS, is_image_attribute
from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.text_kinds import TextKind

Values = tuple[str | None, ...]

TEXTS = frozenset(("text", "own", "owns", "list", "lines"))
"""The parts of an element that are visible text."""


class CandidateField:
    """A possible field of the items: its slot, the part to take, and the values of the sampled items."""

    __slots__ = ("ending", "is_inner", "kind", "label", "prefix", "slot", "take", "values")

    def __init__(self, slot: Slot, take: str, values: Values, label: str = "") -> None:
        self.slot = slot
        self.take = take
        """`text` (all text), `own` (the first text node), `owns` (all text nodes of its own), `list` (one
        text per element), `lines` (the same as one text) or an attribute.
        """
        self.values = values
        self.label = label
        """A word beside the value that labels it."""
        self.kind: TextKind = "text"
        self.prefix = ""
        self.ending = ""
        self.is_inner = slot.is_list
        """True if it is the first of a list inside the item."""

    @property
    def found(self) -> list[str]:
        """The values that exist."""
        return [value for value in self.values if value]

    @property
    def coverage(self) -> float:
        """The share of items with a value."""
        return len(self.found) / len(self.values)

    @property
    def is_link(self) -> bool:
        """True if it is the target of a link."""
        return self.take in LINK_ATTRS

    @property
    def is_image(self) -> bool:
        """True if it is the URL of an image."""
        return is_image_attribute(self.slot, self.take)

    @property
    def is_cell(self) -> bool:
        """True if it is the text of a cell of a row."""
        return self.take == "text" and len(self.slot.key) == 4 and self.slot.key[:2] == ("cell", "nth")

    @property
    def is_text(self) -> bool:
        """True if it is visible text."""
        return self.take in TEXTS
