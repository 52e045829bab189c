"""Limits of markup, checked before it is parsed.

A parser of HTML scans the open elements at every tag, the attributes of an element at each of them, and the
options of a list at every option, so its time grows with the square of each: half a megabyte of unclosed
`<div>` takes most of a minute, and nothing can interrupt it.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isqrt

PARSE_BUDGET = 100_000_000
"""Tags times depth that take about 0.2 s to parse, and 2 s to search with a selector for descendants."""
MAX_ATTRIBUTES = 10_000
"""Attributes of one element; they take about 0.2 s."""
_TOO_MANY_ATTRIBUTES = f"has an element with more than {MAX_ATTRIBUTES} attributes"

_ROOTS = (b"<body", b"<BODY", b"<html", b"<HTML")
_OPTIONS = (b"<option", b"<OPTION")
_MAX_ROOTS = 200
"""Tags whose attributes are all given to one element."""
_SHORTEST_TAG = 3
_WINDOW = 8192
_CHUNK = 4096
_PARTS = 24
_PART = 512
_LONG = 1 << 16
_FARTHEST = 1 << 15
_MANY_UNCLOSED = 0.2
"""The share of unclosed elements from which all tags are read. Parts of ordinary pages cut few elements."""
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)")
_TAG_BEGIN = re.compile(rb"<[a-zA-Z]")
_ATTRIBUTE = re.compile(rb"""[^\s/>"'=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']*))?""")
_WHOLE_TAG = re.compile(rb"""<[a-zA-Z][^>"']*(?:(?:"[^"]*"|'[^']*')[^>"']*)*""")
_FLAT = frozenset(
    b"area base br col embed hr img input link meta source track wbr param "
    b"p li dt dd option optgroup tr td th thead tbody tfoot colgroup rp rt".split()
)
"""Elements without an end tag, or closed by the next element of their kind."""
_FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
"""Elements that a parser opens again after the end of an element around them, but not of a table cell. Their
end closes no other element.
"""
_TEXTUAL = frozenset(b"script style textarea title xmp".split())
"""Elements whose content is text, with any tags in it."""
_CELL_ENDS = frozenset(b"td th tr tbody thead tfoot table caption".split())


def markup_problem(html: bytes, budget: int = PARSE_BUDGET) -> str | None:
    """Return why markup would take too long to parse, or None. Ordinary pages pay next to nothing."""
    if len(html) > 2 * MAX_ATTRIBUTES and _has_too_many_attributes(html):
        return _TOO_MANY_ATTRIBUTES
    most = isqrt(budget)
    if len(html) <= most * _SHORTEST_TAG or (len(html) < _LONG and 2 * _estimate(html) <= most):
        return None
    return _problem_of_long(html, budget)


def _estimate(html: bytes) -> int:
    """Return the number of tags, from eight parts of the page."""
    apart = len(html) // 8
    counted = sum(html.count(b"<", at, at + _PART) for at in range(0, len(html), apart))
    return counted * apart // _PART


def _problem_of_long(html: bytes, budget: int) -> str | None:
    sample = _sample(html, _PART)
    if _is_frequent(_ROOTS, sample) and sum(map(html.count, _ROOTS)) > _MAX_ROOTS:
        return f"has more than {_MAX_ROOTS} html and body tags"
    ends, begins = (sum(part.count(mark) for part in sample) for mark in (b">", b"<"))
    if ends > 2 * begins + len(sample) and _has_long_tag(html):  # `>` in values of attributes
        return _TOO_MANY_ATTRIBUTES
    if (2 * begins * len(html) // (_PART * len(sample))) ** 2 <= budget:
        return None
    tags = html.count(b"<")
    if tags * tags > budget and (
        tags * _depth_bound(html) > budget
        or _is_frequent(_OPTIONS, sample)
        or (tags * tags > 4 * budget and _unclosed_share(_sample(html, 4 * _PART)) > _MANY_UNCLOSED)
    ):
        return _OpenElements(budget, tags).read(html)
    return None


def _sample(html: bytes, part: int) -> list[bytes]:
    """Return parts of a page, close enough that whatever takes long is in some of them."""
    return [html[at : at + part] for at in range(0, len(html), min(len(html) // _PARTS, _FARTHEST))]


def _is_frequent(marks: tuple[bytes, ...], sample: list[bytes]) -> bool:
    return sum(any(mark in part for mark in marks) for part in sample) > len(sample) // 8


def _depth_bound(html: bytes) -> int:
    """Return the depth if every end tag closes an element, counted per chunk."""
    depth = deepest = 0
    for start in range(0, len(html), _CHUNK):
        end = start + _CHUNK
        depth = max(depth + html.count(b"<", start, end) - 2 * html.count(b"</", start, end), 0)
        deepest = max(deepest, depth)
    return deepest


def _unclosed_share(sample: list[bytes]) -> float:
    """Return the share of tags whose element is not closed within its part of the page."""
    tags = unclosed = 0
    for part in sample:
        found = Counter(_TAG.findall(part))
        tags += found.total()
        unclosed += sum(
            max(count - found[b"/", name], 0)
            for (slash, name), count in found.items()
            if not slash and name not in _FLAT
        )
    return unclosed / max(tags, 1)


def _has_too_many_attributes(html: bytes) -> bool:
    """Look for a long stretch without `>`, and count the attributes there if a tag begins before it."""
    at = 0
    while 0 <= at < len(html) - _WINDOW:
        if html.find(b">", at, at + _WINDOW) >= 0:
            at += _WINDOW
            continue
        begin = _TAG_BEGIN.search(html, html.rfind(b">", 0, at) + 1, at + _WINDOW)
        is_tag = begin is not None and not _is_in_script(html, begin.start())
        if begin is not None and is_tag and _has_long_tag(html, begin.start()):
            return True
        at = html.find(b">", at)
    return False


def _has_long_tag(html: bytes, start: int = 0) -> bool:
    """Return whether a tag has too many attributes, the first one from `start` on or all from the begin."""
    for tag in _WHOLE_TAG.finditer(html, start):
        is_long = tag.end() - tag.start() > 2 * MAX_ATTRIBUTES
        if is_long and sum(1 for _ in _ATTRIBUTE.finditer(tag[0])) > MAX_ATTRIBUTES:
            return True
        if start:
            return False
    return False


def _is_in_script(html: bytes, at: int) -> bool:
    return html.rfind(b"<script", 0, at) > html.rfind(b"</script", 0, at)


class _OpenElements:
    """The open elements of a page as its tags are read, roughly as a parser keeps them."""

    def __init__(self, budget: int, tags: int) -> None:
        self._deepest = budget // tags
        self._most_options = 2 * isqrt(budget)
        self._work = budget // 100
        """Elements that a parser may open again."""
        self._stack: list[bytes] = []
        self._open: dict[bytes, int] = {}
        self._options = 0
        self._names: dict[bytes, bytes] = {}

    def read(self, html: bytes) -> str | None:
        """Return why the tags take too long, or None."""
        at = 0
        while at >= 0:
            at, problem = self._read_until_text(html, at)
            if problem is not None:
                return problem
        return None

    def _read_until_text(self, html: bytes, at: int) -> tuple[int, str | None]:
        """Read the tags up to an element whose content is text; return where that ends, or -1."""
        for tag in _TAG.finditer(html, at):
            is_end, name = tag[1] == b"/", self._lowered(tag[2])
            if name == b"option" and not is_end:
                self._options += 1
                if self._options > self._most_options:
                    return -1, f"has a list of more than {self._most_options} options"
            elif name in _FLAT and not self._is_foreign:
                if name in _CELL_ENDS:
                    self._close_cell()
            elif is_end:
                self._close(name)
            elif name in _TEXTUAL and not self._is_foreign:
                end = html.find(b"</" + tag[2], tag.end())
                if end >= 0:
                    return end, None
            else:
                self._push(name)
            if len(self._stack) > self._deepest or self._work < 0:
                return -1, "nests its elements too deeply to be read"
        return -1, None

    def _lowered(self, name: bytes) -> bytes:
        lowered = self._names.get(name)
        if lowered is None:
            lowered = self._names[name] = name[:32].lower()
        return lowered

    @property
    def _is_foreign(self) -> bool:
        """True inside SVG and MathML, where no element is flat."""
        return bool(self._open.get(b"svg") or self._open.get(b"math"))

    def _push(self, name: bytes) -> None:
        if name == b"select":
            self._options = 0
        self._stack.append(name)
        self._open[name] = self._open.get(name, 0) + 1

    def _close(self, name: bytes) -> None:
        if not self._open.get(name):
            return
        kept: list[bytes] = []
        is_formatting = name in _FORMATTING
        while self._stack:
            last = self._stack.pop()
            self._open[last] -= 1
            if last == name:
                break
            if is_formatting or last in _FORMATTING:
                kept.append(last)
        self._work -= len(kept)
        for inner in () if name in _CELL_ENDS else reversed(kept):
            self._push(inner)

    def _close_cell(self) -> None:
        """Drop what is open in a table cell: formatting ends there."""
        if not self._open.get(b"table"):
            return
        while self._stack and self._stack[-1] != b"table":
            self._open[self._stack.pop()] -= 1
