"""Labels: where each page is from, and the list, values and next page that a person wants from it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import msgspec

Half = Literal["tune", "held", "blind"]
"""`tune`: rules are tuned on it; `held`: they are not; `blind`: labelled before `suggest` ever ran on it.

Blind pages are run only when asked for, to measure what was finished without them.
"""

LABELS = Path(__file__).resolve().parent.parent / "labels"


class Label(msgspec.Struct, frozen=True):
    """A page of a source, and what is wanted from it."""

    key: str
    """`group/page`; its hash decides the half if the label does not."""
    path: str
    """The file in the source."""
    url: str
    """The address the page had."""
    items: list[str]
    """CSS selectors that select the wanted items: the preferred one, then others that are as good."""
    count: int
    rows: dict[str, dict[str, list[Any]]]
    """By index (0, 1, -1): for each wanted field, the values that are right.

    A text that ends with an ellipsis is a beginning; `date:2016-03-09` is a date, `date:any` any date.
    """
    next: str | None
    """The next page of the list; None if there is none."""
    next_others: list[str] = []
    """Addresses that are as right."""
    next_path: str = ""
    """The file of the next page; without one, the page with other items is served."""
    decoys: list[str] = []
    """Addresses that also answer with other items, but are not the next page: the days of a calendar."""
    charset: str = ""
    """The charset of the Content-Type header; empty: none is sent."""
    type: str = "text/html"
    source: str = ""
    sites: dict[str, str] = {}
    """Folders of the source, by the address they are served at."""

    half: Half | None = None
    """The half the page belongs to, fixed when it was labelled."""

    @property
    def belongs_to(self) -> Half:
        """The half the page belongs to, by its label or else by the hash of its key."""
        return self.half or ("held" if hashlib.sha256(self.key.encode()).digest()[0] % 2 else "tune")


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    pages: list[dict[str, Any]]
    sites: dict[str, str] = {}


def read_labels(folder: Path = LABELS) -> list[Label]:
    """Return all labels, in the order of their keys."""
    labels = []
    for path in sorted(folder.rglob("*.json")):
        file = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), _File)
        common = {"source": file.source, "sites": file.sites}
        labels += [msgspec.convert(common | page, Label) for page in file.pages]
    return sorted(labels, key=lambda label: label.key)


def choose(labels: list[Label], half: Half | None, page: str | None) -> list[Label]:
    """Return the pages to run: those of a half, or without one all but the blind ones."""
    return [
        label
        for label in labels
        if (label.belongs_to == half if half else label.belongs_to != "blind") and page in (None, label.key)
    ]
