"""Compare the first suggestion for a page with its label. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal
from urllib.parse import unquote, urljoin

import msgspec
from benchmarks.outside.real_pages.labels import Label
from selectolax.lexbor import LexborHTMLParser, LexborNode

SAME_SHARE = 0.95
"""The share of items that two equal lists have in common."""

MOST_TEXT = 0.8
"""The share of an element's text that a part of it has if both are the same item."""

NextVerdict = Literal["right", "wrong", "missing", "none"]
"""`none`: the page has no next page, and none was suggested."""


class Found(msgspec.Struct, frozen=True):
    """The rows of the first suggestion on the page; addresses are the original ones."""

    items: str | None
    """Its CSS selector; None if the items are not elements."""
    rows: list[dict[str, Any]]
    next: list[str]


class Judgement(msgspec.Struct, frozen=True):
    """The result for one page."""

    key: str
    list_right: bool
    fields_right: list[str]
    fields_wrong: list[str]
    next: NextVerdict
    has_next: bool
    note: str
    cpu_s: float = 0.0


def judge(label: Label, html: str, found: Found | None, note: str = "") -> Judgement:
    """Return what is right in a suggestion; nothing is right in None."""
    wanted = list(dict.fromkeys(name for row in label.rows.values() for name in row))
    if found is None:
        return Judgement(label.key, False, [], wanted, _judge_next(label, []), label.next is not None, note)
    matches = _align(label, html, found)
    is_right = matches is not None
    right = [name for name in wanted if matches and _has_field(label, found.rows, matches, name)]
    wrong = [name for name in wanted if name not in right]
    said = note or f"{found.items or 'no elements'}: {len(found.rows)} of {label.count} items"
    verdict = _judge_next(label, found.next)
    return Judgement(label.key, is_right, right, wrong, verdict, label.next is not None, said)


def _align(label: Label, html: str, found: Found) -> dict[int, int] | None:
    """Return the row of the suggestion for each labelled row; None if it is another list."""
    indexes = [int(index) for index in label.rows]
    if found.items is None:
        near = abs(len(found.rows) - label.count) <= (1 - SAME_SHARE) * label.count
        rows = {index: _best_row(label, found.rows, index) for index in indexes} if near else {}
        return {index: row for index, row in rows.items() if row is not None} or None
    tree = LexborHTMLParser(html)
    suggested = tree.css(found.items)
    for selector in label.items:
        labelled = tree.css(selector)
        pairs = _pair(labelled, suggested)
        if pairs is None:
            continue
        if len(found.rows) != len(suggested):
            return {index: index for index in indexes if -len(found.rows) <= index < len(found.rows)}
        places = _places(tree.css(label.items[0]), labelled, indexes)
        return {index: pairs[place] for index, place in places.items() if place in pairs}
    return None


def _places(preferred: list[LexborNode], labelled: list[LexborNode], indexes: list[int]) -> dict[int, int]:
    """Return where labelled rows are in another selection of the same, outer or inner elements."""
    around = {node.mem_id: place for place, node in enumerate(labelled)}
    known = {node.mem_id: place for place, node in enumerate(preferred)}
    inside = {_owner(node, known): place for place, node in enumerate(labelled)}
    places = {}
    for index in indexes:
        own = _owner(preferred[index], around)
        found = own if own is not None else inside.get(index % len(preferred))
        places[index] = found if found is not None else index % len(labelled)
    return places


def _pair(labelled: list[LexborNode], suggested: list[LexborNode]) -> dict[int, int] | None:
    """Pair equal or nested elements one to one; None if more than a few of either list stay alone.

    The inner of two nested elements has most of the text: a title is not its row, a row is not its table.
    """
    ours = {node.mem_id: index for index, node in enumerate(labelled)}
    theirs = {node.mem_id: number for number, node in enumerate(suggested)}
    inside = {(_owner(node, ours), number) for number, node in enumerate(suggested)}
    outside = {(index, _owner(node, theirs)) for index, node in enumerate(labelled)}
    nested = {*inside, *outside}
    both = [(index, number) for index, number in nested if index is not None and number is not None]
    first, second = Counter(index for index, _ in both), Counter(number for _, number in both)
    pairs = {
        index: number
        for index, number in both
        if first[index] == second[number] == 1 and _is_most(labelled[index], suggested[number])
    }
    return pairs if len(pairs) >= SAME_SHARE * max(len(labelled), len(suggested)) and pairs else None


def _owner(node: LexborNode, among: dict[int, int]) -> int | None:
    """Return the number of the nearest known element that is or contains a node."""
    current: LexborNode | None = node
    while current is not None:
        if current.mem_id in among:
            return among[current.mem_id]
        current = current.parent
    return None


def _is_most(first: LexborNode, second: LexborNode) -> bool:
    sizes = sorted(len(_plain(node.text())) for node in (first, second))
    return sizes[0] >= MOST_TEXT * sizes[1]


def _best_row(label: Label, rows: list[dict[str, Any]], index: int) -> int | None:
    """Return the row with the most labelled values; None if no row has one."""
    wanted = label.rows[str(index)]

    def hits(row: dict[str, Any]) -> int:
        return sum(
            any(is_value(given, right, label.url) for given in row.values()) for right in wanted.values()
        )

    best = max(range(len(rows)), key=lambda number: hits(rows[number]), default=None)
    return best if best is not None and hits(rows[best]) else None


def _has_field(label: Label, rows: list[dict[str, Any]], matches: dict[int, int], name: str) -> bool:
    """Return whether one field has the right value in every labelled row."""
    checks = [
        (rows[row], label.rows[str(index)][name])
        for index, row in matches.items()
        if name in label.rows[str(index)]
    ]
    fields = list(rows[0]) if rows else []
    return bool(checks) and any(
        all(is_value(row.get(field), right, label.url) for row, right in checks) for field in fields
    )


def is_value(given: Any, right: list[Any], base: str) -> bool:
    """Return whether a value is one of the right ones; white space and spellings of URLs do not count."""
    if isinstance(given, list):
        given = " ".join(map(str, given))
    if isinstance(given, str) and any(_number(one) is not None for one in right):
        return _is_number_text(given, right) or any(_is_one(given, one, base) for one in right)
    return given is not None and any(_is_one(given, one, base) for one in right)


def _is_number_text(given: str, right: list[Any]) -> bool:
    """Return whether a text is the number of a right text, with or without what stands beside it."""
    digits = re.sub(r"\D", "", given)
    return bool(digits) and any(
        isinstance(one, str)
        and re.sub(r"\D", "", one) == digits
        and (_plain(given) in _plain(one) or _plain(one) in _plain(given))
        for one in right
    )


def _is_one(given: Any, right: Any, base: str) -> bool:
    if isinstance(right, int | float) or isinstance(given, int | float):
        return _number(given) is not None and _number(given) == _number(right)
    if right.startswith("date:"):
        day = right.removeprefix("date:")
        return bool(re.match(r"\d{4}-\d\d-\d\d(?!\d)" if day == "any" else re.escape(day), given))
    have, want = _plain(given), _plain(right)
    if want.endswith("…") and have.startswith(want[:-1]):
        return True
    return bool(want) and (have == want or _address(given, base) == _address(right, base))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plain(text: str) -> str:
    return "".join(text.split())


def _address(text: str, base: str) -> str:
    """Return an absolute URL without its scheme and escapes."""
    try:
        joined = urljoin(base, text.strip())
    except ValueError:
        return text
    return unquote(re.sub(r"^https?:", "", joined)).removesuffix("/")


def _judge_next(label: Label, suggested: list[str]) -> NextVerdict:
    if not suggested:
        return "missing" if label.next else "none"
    if label.next is None:
        return "wrong"
    wanted = {_page_of(one, label.url) for one in (label.next, *label.next_others)}
    return "right" if wanted & {_page_of(one, label.url) for one in suggested} else "wrong"


def _page_of(text: str, base: str) -> str:
    """Return an address without its fragment."""
    return _address(text.partition("#")[0], base)
