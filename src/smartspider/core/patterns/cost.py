"""The cost of a search by backtracking, as `re` does it, in steps."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from smartspider.core.patterns.syntax import (
    REPEATS,
    Nodes,
    ascii_matches,
    codes,
    group_flags,
    is_character,
    may_match_beyond_ascii,
)

MAX_STEPS = 4_000_000
"""Steps of `re` that take about 30 ms."""
_LENGTHS = [int(1.25**power) for power in range(3, 63)]
"""Lengths that are told apart: 1 to a million."""
_NEVER = 1e30


def cheap_length(nodes: Nodes, flags: int, max_steps: int = MAX_STEPS) -> int:
    """Return the length of the longest texts that a search surely gets through in `max_steps`."""
    is_anchored = _is_anchored(nodes, flags)

    def is_dear(length: int) -> bool:
        starts = 1 if is_anchored else length + 1
        return starts * _of_sequence(nodes, flags, length, _nothing).steps > max_steps

    place = bisect_left(_LENGTHS, True, key=is_dear)
    return _LENGTHS[place - 1] if place else 0


class _Cost(NamedTuple):
    """Upper bounds for one start in a text: the ways in which nodes match, and the steps to try all."""

    ways: float
    steps: float


def _is_anchored(nodes: Nodes, flags: int) -> bool:
    if not len(nodes):
        return False
    code, argument = nodes[0]
    if code is not codes.AT:
        return False
    return argument is codes.AT_BEGINNING_STRING or (
        argument is codes.AT_BEGINNING and not flags & re.MULTILINE
    )


_First = frozenset[str] | None
"""The ASCII characters that may come next; None: anything may, also a character beyond ASCII."""
_Follow = Callable[[], _First]
"""Returns what comes after some nodes. Few nodes ask."""


def _nothing() -> _First:
    """Nothing follows, so that a match is not tried again."""
    return frozenset()


def _anything() -> _First:
    return None


def _of_sequence(sequence: Nodes, flags: int, length: int, follow: _Follow) -> _Cost:
    """Return the cost of nodes before `follow`."""
    ways, steps = 1.0, 1.0
    nodes = list(sequence)
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if is_character(node[0]):
            steps += 1
            continue
        own = _of_node(node, flags, length, partial(_first, nodes, index + 1, flags, follow))
        ways, steps = _capped(own.ways * ways), _capped(own.steps + own.ways * steps)
    return _Cost(ways, steps)


def _of_node(node: Any, flags: int, length: int, follow: _Follow) -> _Cost:
    code, argument = node
    if code in REPEATS:
        return _of_repeat(code, argument, flags, length, follow)
    if code is codes.SUBPATTERN:
        _, added, removed, inner = argument
        return _of_sequence(inner, group_flags(flags, added, removed), length, follow)
    if code is codes.BRANCH:
        return _of_branches(argument[1], flags, length, follow)
    if code is codes.GROUPREF_EXISTS:
        return _of_branches([argument[1], argument[2] or ()], flags, length, follow)
    if code in (codes.ASSERT, codes.ASSERT_NOT, codes.ATOMIC_GROUP):
        inner = argument if code is codes.ATOMIC_GROUP else argument[1]
        return _Cost(1, _of_sequence(inner, flags, length, _nothing).steps)
    return _Cost(1, length if code is codes.GROUPREF else 1)


def _of_branches(branches: Iterable[Nodes], flags: int, length: int, follow: _Follow) -> _Cost:
    costs = [_of_sequence(branch, flags, length, follow) for branch in branches]
    return _Cost(_capped(sum(cost.ways for cost in costs)), _capped(sum(cost.steps for cost in costs)))


def _of_repeat(code: Any, argument: Any, flags: int, length: int, follow: _Follow) -> _Cost:
    low, high, body = argument
    rounds = min(int(high), length + 1)
    if len(body) == 1 and is_character(body[0][0]):
        is_single = low >= rounds or code is codes.POSSESSIVE_REPEAT or _is_disjoint(body[0], flags, follow)
        return _Cost(1 if is_single else rounds - min(low, rounds) + 1, 2 * rounds + 1)
    once = _of_sequence(body, flags, length, _anything)
    if body.getwidth()[0] == 0 and rounds > 1:
        return _Cost(_NEVER, _NEVER)
    ways = steps = reached = 1.0
    for _ in range(rounds):
        steps = _capped(steps + reached * once.steps)
        reached = _capped(reached * once.ways)
        ways = _capped(ways + reached)
        if steps >= _NEVER:
            break
        if once.ways <= 1:
            steps, ways = 1 + rounds * once.steps, 1.0 + rounds
            break
    return _Cost(1 if code is codes.POSSESSIVE_REPEAT else ways, steps)


def _is_disjoint(node: Any, flags: int, follow: _Follow) -> bool:
    """Return whether a run of a character ends in one way only: what follows is never one of its own."""
    first = follow()
    code, argument = node
    return first is not None and not ascii_matches(code, argument, flags) & first


def _first(nodes: list[Any], index: int, flags: int, follow: _Follow) -> _First:
    """Return what the first character of the nodes from an index, before `follow`, may be."""
    if index >= len(nodes):
        return follow()
    code, argument = nodes[index]
    rest = partial(_first, nodes, index + 1, flags, follow)
    if is_character(code):
        return None if may_match_beyond_ascii(code, argument, flags) else ascii_matches(code, argument, flags)
    if code is codes.SUBPATTERN:
        return _first(list(argument[3]), 0, group_flags(flags, argument[1], argument[2]), rest)
    if code is codes.BRANCH:
        return _united(_first(list(branch), 0, flags, rest) for branch in argument[1])
    if code in REPEATS:
        body = _first(list(argument[2]), 0, flags, _anything)
        return body if argument[0] > 0 or body is None else _united((body, rest()))
    return None


def _united(firsts: Iterable[_First]) -> _First:
    found = list(firsts)
    return None if None in found else frozenset[str]().union(*(each for each in found if each))


def _capped(value: float) -> float:
    return min(value, _NEVER)
