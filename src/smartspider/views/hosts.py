"""Views of hosts and their gates."""

from __future__ import annotations

from typing import Literal

import msgspec

HostScope = Literal["own", "all"]
"""The runs that a hold or a delay applies to: those of the caller's tasks, or all."""


class HostDelays(msgspec.Struct, frozen=True):
    """The delays set by runs, robots.txt, the adaptive delay and operators, in seconds; the
    longest applies.
    """

    runs: float
    robots: float
    adaptive: float
    operator: float


class OwnerGateView(msgspec.Struct, frozen=True):
    """The delay and the hold that a user set at a host for the user's own runs."""

    owner: str
    delay_s: float
    held_until: str | None
    hold_reason: str


class HostGateView(msgspec.Struct, frozen=True):
    """A host and its gate: the delay between requests, holds, and requests in flight."""

    host: str
    domain: str
    delay_s: float
    delays_s: HostDelays
    held_until: str | None
    """No request is sent before this time; null if the host is not held."""
    hold_reason: str
    on_trial: bool
    """True after repeated failures: requests are sent one at a time until one succeeds."""
    in_flight: int
    runs: int
    """The number of runs that have requests for the host."""
    owners: list[OwnerGateView] = []
    """Delays and holds that apply only to the runs of one user."""
