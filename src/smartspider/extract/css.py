"""Parse CSS expressions: selector lists, compounds and pseudo-elements, with positions."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from smartspider.extract.errors import InvalidExpression

Take = Literal["element", "text", "deep_text", "attr"]
"""The part of a matched element to take: itself, its own text nodes, all text nodes in it, an attribute."""

SCOPE = ":scope"

_COMBINATOR = re.compile(r"\s*([>+~])\s*|\s+")
_PSEUDO = re.compile(r"::(?P<name>[\w-]*)(?P<call>\((?P<arg>[^)]*)\))?")
_PLAIN = re.compile(r"[^\s>+~,\\\"'\[\](){}:]+")
_SCOPE_HEAD = re.compile(r":scope(?![\w-])", re.IGNORECASE)
_CLOSING = {"[": "]", "(": ")"}
_DEEPEST = 20
"""The most nested brackets; bounds the recursion of the parser."""


class InvalidSelector(InvalidExpression):
    """An invalid CSS expression; the position is always known."""

    at: int


class CompoundSelector(NamedTuple):
    """`h2.title` of `div > h2.title`, with the combinator before it ("" for none) and its position."""

    combinator: str
    css: str
    at: int


class ComplexSelector(NamedTuple):
    """One selector of a comma-separated list. `is_scoped`: its first compound is the item itself."""

    compounds: tuple[CompoundSelector, ...]
    take: Take
    attr: str | None
    is_scoped: bool


def read_selector(expr: str) -> tuple[ComplexSelector, ...]:
    """Parse a CSS expression; raise `InvalidSelector`."""
    selectors = read_selector_list(expr)
    for selector in selectors:
        first, *others = selector.compounds
        is_item = selector.is_scoped and first.combinator != ">" and bool(others)
        outward = others[0].combinator if is_item else first.combinator
        if outward in {"+", "~"}:
            raise InvalidSelector(
                first.at, f"'{outward}' matches elements outside the item", "rules search inside the item"
            )
    return selectors


def read_selector_list(expr: str) -> tuple[ComplexSelector, ...]:
    """Like `read_selector`, but a selector may start with a sibling combinator, as in `:has()`."""
    selectors = []
    position = 0
    while True:
        selector, position = _read_complex(expr, position)
        selectors.append(selector)
        if position >= len(expr):
            return tuple(selectors)
        position += 1


def _read_complex(expr: str, position: int) -> tuple[ComplexSelector, int]:
    compounds: list[CompoundSelector] = []
    take: Take = "element"
    attr: str | None = None
    while True:
        combinator, position = _read_combinator(expr, position)
        if not compounds and combinator == " ":
            combinator = ""
        if position >= len(expr) or expr[position] == ",":
            break
        end = _end_of_compound(expr, position)
        if end > position or combinator or not compounds:
            compounds.append(CompoundSelector(combinator, expr[position:end] or "*", position))
        if expr.startswith("::", end):
            take, attr, position = _read_pseudo_element(expr, end)
            return _complex(compounds, take, attr), position
        if end == position:
            raise InvalidSelector(position, f"{expr[position]!r} is not allowed here")
        position = end
    if not compounds:
        raise InvalidSelector(position, "a selector is missing here")
    if combinator not in {"", " "}:
        raise InvalidSelector(position, f"nothing follows {combinator!r}")
    return _complex(compounds, take, attr), position


def _read_combinator(expr: str, position: int) -> tuple[str, int]:
    found = _COMBINATOR.match(expr, position)
    if found is None:
        return "", position
    return found[1] or " ", found.end()


def _end_of_compound(expr: str, position: int) -> int:
    while position < len(expr):
        character = expr[position]
        if character == "\\":
            position += 2
        elif character in _CLOSING:
            position = _end_of_block(expr, position)
        elif character == ":" and not expr.startswith("::", position):
            position += 1
        else:
            plain = _PLAIN.match(expr, position)
            if plain is None:
                return position
            position = plain.end()
    return min(position, len(expr))


def _end_of_block(expr: str, start: int, depth: int = 1) -> int:
    """Return the position after the bracket that closes the one at `start`."""
    if depth > _DEEPEST:
        raise InvalidSelector(start, f"brackets are nested more than {_DEEPEST} deep")
    closing = _CLOSING[expr[start]]
    position = start + 1
    while position < len(expr):
        character = expr[position]
        if character == closing:
            return position + 1
        if character == "\\":
            position += 2
        elif character in _CLOSING:
            position = _end_of_block(expr, position, depth + 1)
        elif character in "\"'":
            position = _end_of_string(expr, position)
        else:
            position += 1
    raise InvalidSelector(start, f"{expr[start]!r} is never closed")


def _end_of_string(expr: str, start: int) -> int:
    position = start + 1
    while position < len(expr):
        if expr[position] == expr[start]:
            return position + 1
        position += 2 if expr[position] == "\\" else 1
    raise InvalidSelector(start, "unclosed quote")


def _read_pseudo_element(expr: str, position: int) -> tuple[Take, str | None, int]:
    found = _PSEUDO.match(expr, position)
    name = found["name"].lower() if found is not None else ""
    if found is None or name not in {"text", "attr"}:
        raise InvalidSelector(position, f"unknown pseudo-element '::{name}'", "use ::text or ::attr(name)")
    if (name == "attr") != (found["call"] is not None):
        raise InvalidSelector(position, f"'{found[0]}' is not complete", "write ::text or ::attr(name)")
    argument = (found["arg"] or "").strip().strip("\"'")
    if name == "attr" and (not argument or re.search(r"\s", argument)):
        raise InvalidSelector(position, f"'{found[0]}' does not name an attribute", "write ::attr(name)")
    _, after = _read_combinator(expr, found.end())
    if after < len(expr) and expr[after] != ",":
        raise InvalidSelector(found.end(), f"'{found[0]}' must be at the end")
    return ("attr", argument, after) if name == "attr" else ("text", None, after)


def _complex(compounds: list[CompoundSelector], take: Take, attr: str | None) -> ComplexSelector:
    if take == "text" and compounds[-1].css == "*" and compounds[-1].combinator in {"", " "}:
        # `div ::text` and `div *::text` select all text in the div, including its own; `::text` all of the
        # item.
        take = "deep_text"
        compounds = compounds[:-1] or [CompoundSelector("", SCOPE, compounds[-1].at)]
    first = compounds[0]
    is_scoped = first.combinator == ">" or _SCOPE_HEAD.match(first.css) is not None
    return ComplexSelector(tuple(compounds), take, attr, is_scoped)


def split_simple(compound: str) -> list[tuple[int, str]]:
    """Split `h2.title:not(.x)` into `h2`, `.title` and `:not(.x)`, with their positions."""
    starts = [0]
    position = 0
    while position < len(compound):
        character = compound[position]
        if character in ".#:[" and position > starts[-1]:
            starts.append(position)
        if character == "\\":
            position += 2
        elif character in _CLOSING:
            position = _end_of_block(compound, position)
        else:
            position += 1
    return [(start, compound[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True)]
