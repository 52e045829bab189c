"""How runs share the places in a worker's hand. Everything here runs inside a transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from smartspider.backends.sqlite import queue
from smartspider.store.database import Connection, rows

SQL = queue.SQL


class Claim(msgspec.Struct):
    """A run that may have some of the places."""

    run_id: int
    weight: int
    room: int
    """How many more it may have in flight."""


class Turns:
    """Who is next where a place cannot be divided: the run that had least, by its weight."""

    def __init__(self) -> None:
        self._served: dict[int, float] = {}
        self._turn = 0.0

    def in_order(self, claims: Sequence[Claim]) -> list[Claim]:
        """Runs by what they had. No run falls behind by more than one, so none gathers a claim."""
        return sorted(claims, key=lambda claim: self._served_to(claim.run_id))

    def charge(self, claim: Claim, count: int) -> None:
        """A run had so many more."""
        served = self._served_to(claim.run_id)
        self._turn = max(self._turn, served)
        self._served[claim.run_id] = served + count / claim.weight

    def keep(self, claims: Sequence[Claim]) -> None:
        """Forget all other runs."""
        self._served = {claim.run_id: self._served_to(claim.run_id) for claim in claims}

    def _served_to(self, run_id: int) -> float:
        return max(self._served.get(run_id, 0.0), self._turn - 1.0)


def share_out(connection: Connection, hand: queue.Hand, claims: Sequence[Claim], turns: Turns) -> None:
    """Fill the hand: each run up to its share of the worker by weight, then the rest to who can use it."""
    if len(claims) == 1:
        _give(connection, hand, claims[0], hand.free)
        return
    turns.keep(claims)
    asked = json.dumps([claim.run_id for claim in claims if claim.room > 0])
    open_runs = {run_id for (run_id,) in rows(connection, SQL.with_open_lanes, (asked,))}
    able = [claim for claim in claims if claim.run_id in open_runs]
    held: dict[int, int] = {}
    if len(able) > 1:
        held = dict(rows(connection, SQL.held_by, (hand.worker_id,)))
    hungry = turns.in_order(able)
    grants = fair_shares(hand.free, hungry, held)
    while hand.free > 0 and hungry:
        filled = []
        for claim in hungry:
            grant = grants.get(claim.run_id, 0)
            got = _give(connection, hand, claim, grant)
            turns.charge(claim, got)
            if got == grant:
                filled.append(claim)
        hungry = turns.in_order(filled)
        grants = divided(hand.free, hungry)
    for claim in able if hand.free > 0 else ():  # one that had to let another go first may take now
        turns.charge(claim, _give(connection, hand, claim, hand.free))


def _give(connection: Connection, hand: queue.Hand, claim: Claim, count: int) -> int:
    got = 0
    if count > 0 and claim.room > 0:
        got = queue.take(connection, hand, claim.run_id, min(count, claim.room), claim.weight)
        claim.room -= got
    return got


def fair_shares(free: int, claims: Sequence[Claim], held: Mapping[int, int]) -> dict[int, int]:
    """What each run lacks to its share of all places of the worker, those it holds already included."""
    places = free + sum(held.get(claim.run_id, 0) for claim in claims)
    weights = sum(claim.weight for claim in claims)
    lacks = {claim.run_id: places * claim.weight // weights - held.get(claim.run_id, 0) for claim in claims}
    behind = [claim for claim in claims if lacks[claim.run_id] > 0]
    if not behind:
        return divided(free, claims)
    if sum(lacks[claim.run_id] for claim in behind) <= free:
        return {claim.run_id: lacks[claim.run_id] for claim in behind}
    return {run_id: min(part, lacks[run_id]) for run_id, part in divided(free, behind).items()}


def divided(free: int, claims: Sequence[Claim]) -> dict[int, int]:
    """Places by weight; where there are too few of them, one for each of the first."""
    weights = sum(claim.weight for claim in claims)
    parts = {claim.run_id: free * claim.weight // weights for claim in claims}
    if any(parts.values()):
        return parts
    return {claim.run_id: 1 for claim in claims[:free]}
