"""Write a regular expression for the `regex` module, so that it matches what `re` matches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from smartspider.core.patterns.syntax import (
    Nodes,
    ascii_matches,
    codes,
    escaped,
    group_flags,
    is_character,
    write_character,
    write_count,
)


def to_regex(nodes: Nodes, flags: int) -> str:
    """Return a pattern for the `regex` module, in which group 1 is named `g1`."""
    return "".join(_write_node(node, flags) for node in nodes)


def _write_node(node: Any, flags: int) -> str:
    code, argument = node
    if is_character(code):
        return _write_character(code, argument, flags)
    return _WRITERS[code](code, argument, flags)


def _write_branch(_: Any, argument: Any, flags: int) -> str:
    return f"(?:{'|'.join(to_regex(branch, flags) for branch in argument[1])})"


def _write_group(_: Any, argument: Any, flags: int) -> str:
    group, added, removed, inner = argument
    begin = f"(?P<g{group}>" if group else "(?:"
    return f"{begin}{to_regex(inner, group_flags(flags, added, removed))})"


def _write_repeat(code: Any, argument: Any, flags: int) -> str:
    low, high, body = argument
    return f"(?:{to_regex(body, flags)}){write_count(low, high)}{_ENDS[code]}"


def _write_assertion(code: Any, argument: Any, flags: int) -> str:
    sign = "=" if code is codes.ASSERT else "!"
    return f"(?{'<' if argument[0] < 0 else ''}{sign}{to_regex(argument[1], flags)})"


def _write_condition(_: Any, argument: Any, flags: int) -> str:
    group, yes, no = argument
    return f"(?(g{group}){to_regex(yes, flags)}|{'' if no is None else to_regex(no, flags)})"


def _write_character(code: Any, argument: Any, flags: int) -> str:
    if flags & re.ASCII and flags & re.IGNORECASE:
        # `regex` folds case beyond ASCII all the same.
        plain = _write_class(code, argument, flags & ~re.IGNORECASE)
        folded = "".join(escaped(ord(each)) for each in sorted(ascii_matches(code, argument, flags)))
        beyond = rf"(?=[^\x00-\x7f]){plain}"
        return f"(?:[{folded}]|{beyond})" if folded else f"(?:{beyond})"
    return _write_class(code, argument, flags)


def _write_class(code: Any, argument: Any, flags: int) -> str:
    if code is codes.ANY:
        return _EVERYTHING if flags & re.DOTALL else _write_others("\n")
    if code is codes.LITERAL:
        return _with_case(escaped(argument), flags)
    members = [(codes.NEGATE, None), (codes.LITERAL, argument)] if code is codes.NOT_LITERAL else argument
    is_negated = members[0][0] is codes.NEGATE
    members = members[1:] if is_negated else members
    classes = _ASCII_CLASSES if flags & re.ASCII else _UNICODE_CLASSES
    # A complement cannot be a member of a class, so it becomes an alternative.
    inside = [member for member in members if member[0] is not codes.CATEGORY or member[1] in classes]
    beside = [_COMPLEMENTS[member[1]] for member in members if member not in inside]
    if is_negated and not beside and not flags & re.IGNORECASE:
        # Twice, because `regex` confuses alternatives that are the complement of one character each.
        return write_character(codes.IN, [(codes.NEGATE, None), *inside, *inside[:1]], classes)
    sources = [_with_case(write_character(codes.IN, inside, classes), flags)] if inside else []
    source = "|".join([*sources, *(f"[^{classes[each]}]" for each in beside)])
    if is_negated:
        return f"(?:(?!{source}){_EVERYTHING})"
    return source if len(sources) + len(beside) == 1 else f"(?:{source})"


def _write_others(character: str) -> str:
    return f"[^{escaped(ord(character)) * 2}]"


def _write_place(_: Any, place: Any, flags: int) -> str:
    word = f"[{(_ASCII_CLASSES if flags & re.ASCII else _UNICODE_CLASSES)[codes.CATEGORY_WORD]}]"
    match place:
        case codes.AT_BEGINNING:
            return "(?m:^)" if flags & re.MULTILINE else r"\A"
        case codes.AT_BEGINNING_STRING:
            return r"\A"
        case codes.AT_END:
            return r"(?=\n|\Z)" if flags & re.MULTILINE else r"(?=\n?\Z)"
        case codes.AT_END_STRING:
            return r"\Z"
        case codes.AT_BOUNDARY:
            return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        case _:
            return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"


def _with_case(source: str, flags: int) -> str:
    if not flags & re.IGNORECASE:
        return source
    return f"(?ai:{source})" if flags & re.ASCII else f"(?i:{source})"


_EVERYTHING = r"[\x00-\U0010ffff]"
_SPACES = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_UNICODE_CLASSES = {
    codes.CATEGORY_DIGIT: r"\p{Nd}",
    codes.CATEGORY_SPACE: _SPACES,
    codes.CATEGORY_WORD: r"\p{L}\p{N}_",
}
_ASCII_CLASSES = {
    codes.CATEGORY_DIGIT: "0-9",
    codes.CATEGORY_SPACE: r"\t-\r ",
    codes.CATEGORY_WORD: "0-9A-Z_a-z",
}
_COMPLEMENTS = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}
_ENDS = {codes.MAX_REPEAT: "", codes.MIN_REPEAT: "?", codes.POSSESSIVE_REPEAT: "+"}
_WRITERS: dict[Any, Callable[[Any, Any, int], str]] = {
    codes.AT: _write_place,
    codes.BRANCH: _write_branch,
    codes.SUBPATTERN: _write_group,
    codes.MAX_REPEAT: _write_repeat,
    codes.MIN_REPEAT: _write_repeat,
    codes.POSSESSIVE_REPEAT: _write_repeat,
    codes.ATOMIC_GROUP: lambda _, nodes, flags: f"(?>{to_regex(nodes, flags)})",
    codes.ASSERT: _write_assertion,
    codes.ASSERT_NOT: _write_assertion,
    codes.GROUPREF: lambda _, group, flags: _with_case(f"(?P=g{group})", flags),
    codes.GROUPREF_EXISTS: _write_condition,
    codes.FAILURE: lambda *_: "(?!)",
}
