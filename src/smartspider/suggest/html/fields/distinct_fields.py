"""Drop fields that repeat others or are no values."""

from __future__ import annotations

import re

from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.shapes import has_word

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_RANKS = {
    "text": 0,
    "own": 0,
    "owns": 1,
    "list": 1,
    "lines": 1,
    "href": 0,
    "datetime": 0,
    "src": 0,
    "alt": 3,
    "title": 3,
}
_MOST_IMAGES = 3
_FILE = re.compile(r"^magnet:|\.(?:pdf|docx?|xlsx?|csv|zip|ics|torrent|mp3|epub)(?:[?#]|$)", re.IGNORECASE)
_SAID_AGAIN = frozenset(("title", "aria-label", "alt", "data-title", "data-name"))


def distinct_fields(fields: list[CandidateField], *, is_table: bool = False) -> list[CandidateField]:
    """Drop fields that duplicate another; the higher-ranked one stays, and so do the columns of a table."""
    kept: list[CandidateField] = []
    if not is_table:
        fields = _without_actions(_without_galleries(_without_inner(fields)))
    fields = [field for field in fields if not _is_time_text(field, fields)]
    fields = [field for field in fields if not _is_truncated(field, fields)]
    if any(field.take in {"text", "own"} for field in fields):
        fields = [field for field in fields if field.take != "alt"]
    for field in sorted(fields, key=lambda field: (not (is_table and field.is_cell), _rank(field))):
        is_column = is_table and field.is_cell
        if is_column or not any(_duplicates(field, other) or _repeats(field, other) for other in kept):
            kept.append(field)
    place = {id(field): number for number, field in enumerate(fields)}
    return sorted(kept, key=lambda field: place[id(field)])


def _without_inner(fields: list[CandidateField]) -> list[CandidateField]:
    """Drop the links and images of lists inside the item, except the first if the item has no other."""
    dropped: set[int] = set()
    for kind in ([field for field in fields if field.is_link], [field for field in fields if field.is_image]):
        inner = [field for field in kind if field.is_inner]
        dropped.update(map(id, inner if len(inner) < len(kind) else inner[1:]))
    return [field for field in fields if id(field) not in dropped]


def _without_galleries(fields: list[CandidateField]) -> list[CandidateField]:
    """Keep the first image of each gallery, and the first images of an item that has many."""
    galleries: dict[tuple[str, ...], CandidateField] = {}
    for field in fields:
        if field.is_image:
            unnumbered = tuple(word for place, word in enumerate(field.slot.key) if place % 4 != 3)
            galleries.setdefault((field.take, *unnumbered), field)
    kept = {id(field) for field in list(galleries.values())[:_MOST_IMAGES]}
    return [field for field in fields if not field.is_image or id(field) in kept]


def _rank(field: CandidateField) -> tuple[int, int, float, int]:
    """Return the sort key of duplicates: texts before attributes, headings first, full coverage first."""
    path = field.slot.key
    is_named = any(tag in path for tag in _HEADINGS) or "itemprop" in path
    depth = 0 if is_named else 1 if field.slot.example.own else 2
    is_drawn = any("★" in value for value in field.found)
    return 4 if is_drawn else _RANKS.get(field.take, 2), depth, -field.coverage, -len(set(field.found))


def _duplicates(field: CandidateField, other: CandidateField) -> bool:
    same = 0
    for mine, its in zip(field.values, other.values, strict=True):
        if mine is None:
            continue
        if its is None or _plain(mine) != _plain(its):
            return False
        same += 1
    return same > 0


def _repeats(field: CandidateField, other: CandidateField) -> bool:
    """Return True for a tooltip that says what a text beside it says, or part of it."""
    if field.take not in _SAID_AGAIN or not other.is_text:
        return False
    pairs = [
        (mine.casefold(), its.casefold())
        for mine, its in zip(field.values, other.values, strict=True)
        if mine is not None and its is not None
    ]
    said = sum(mine in its or (len(its) > 3 and its in mine and its[-1] not in ".…") for mine, its in pairs)
    return len(pairs) >= 0.8 * len(field.found) and said >= 0.8 * max(1, len(pairs))


def _plain(value: str) -> str:
    return " ".join(value.partition("#")[0].casefold().strip("★☆ ").split()) or value


def _is_time_text(field: CandidateField, fields: list[CandidateField]) -> bool:
    """Return True for the text of a `time` element that also has a `datetime` attribute."""
    return (
        field.slot.example.tag == "time"
        and field.take != "datetime"
        and any(
            other.slot is field.slot and other.take == "datetime" and other.coverage >= field.coverage
            for other in fields
        )
    )


def _is_truncated(field: CandidateField, fields: list[CandidateField]) -> bool:
    """Return True for text that ends in an ellipsis and is complete in the element's title."""
    if field.take not in {"text", "own"}:
        return False
    return any(
        other.slot is field.slot and other.take == "title" and _completes(field, other) for other in fields
    )


def _completes(field: CandidateField, other: CandidateField) -> bool:
    cut = [
        its is not None and its.startswith(mine.rstrip(".… "))
        for mine, its in zip(field.values, other.values, strict=True)
        if mine is not None and mine.endswith(("...", "…"))
    ]
    return bool(cut) and all(cut)


def _without_actions(fields: list[CandidateField]) -> list[CandidateField]:
    """Drop links with the same text in every item (reply, report), if there are others; files stay."""
    actions = {id(field) for field in fields if field.is_link and _is_action(field)}
    others = [field for field in fields if id(field) not in actions]
    return others if any(field.is_link for field in others) else fields


def _is_action(field: CandidateField) -> bool:
    if all(_FILE.search(value) for value in field.found):
        return False
    texts = {" ".join(element.own) for element in field.slot.elements.values()}
    return len(texts) == 1 and any(map(has_word, texts)) and len(field.slot.elements) > 2
