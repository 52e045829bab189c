"""Workers as others see them."""

from __future__ import annotations

import msgspec


class WorkerCard(msgspec.Struct, frozen=True):
    """What a worker says of itself when it joins."""

    name: str
    node: str = ""
    pid: int = 0
    version: str = ""
    slots: int = 0


class WorkerRecord(msgspec.Struct, frozen=True):
    """A worker that has joined and not left."""

    id: int
    name: str
    node: str
    pid: int
    version: str
    slots: int
    held: int
    """Requests in its hands."""
    is_draining: bool
    is_alive: bool
    joined_at: float
    seen_at: float
    cpu_s: float
    memory: int
    hosts: list[str] = []
    """Of what it holds, a few."""
    runs: list[int] = []
