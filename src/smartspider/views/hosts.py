"""Hosts and their gates, as they are told."""

from __future__ import annotations

import msgspec


class HostDelays(msgspec.Struct, frozen=True):
    """Who has a say in how far apart requests to a host leave; the longest delay counts."""

    runs: float
    robots: float
    adaptive: float
    operator: float


class HostGateView(msgspec.Struct, frozen=True):
    """A host: how fast requests may leave for it, and whether it is left alone for now."""

    host: str
    domain: str
    delay_s: float
    delays_s: HostDelays
    held_until: str | None
    """Nothing is sent before; null: it is not held."""
    hold_reason: str
    on_trial: bool
    """It failed again and again: one request at a time until an answer is good."""
    in_flight: int
    runs: int
    """That stand there."""
