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
    cpus: int = 0
    """Of its machine."""
    is_elastic: bool = False
    """It was started because there is much to do, and is asked to leave when there is little."""


class Form(msgspec.Struct, frozen=True):
    """How a worker does: measured by itself, the last minutes counting most."""

    lag_s: float = 0.0
    """How late it gets to what is due: its process or its machine has too much to do."""
    fault_share: float = 0.0
    """Of its requests, those that no server answered."""
    request_s: float = 0.0
    """How long a request is in its hands."""
    pages: int = 0
    """What it stored since it joined."""
    load: float = 0.0
    """Of its machine, over one minute."""


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
    cpus: int = 0
    is_elastic: bool = False
    form: Form = Form()
