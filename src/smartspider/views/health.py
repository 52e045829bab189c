"""Health as it is told."""

from __future__ import annotations

from typing import Literal

import msgspec


class HealthView(msgspec.Struct, frozen=True):
    """The process lives."""

    status: Literal["ok"]
    version: str


class CheckView(msgspec.Struct, frozen=True):
    """One thing that has to be there."""

    name: str
    ok: bool
    detail: str


class ReadyView(msgspec.Struct, frozen=True):
    """Whether tasks can be run; `missing` names what is not there."""

    ready: bool
    missing: list[str]
    checks: list[CheckView]


class TargetsView(msgspec.Struct, frozen=True):
    """Where Prometheus finds metrics (HTTP service discovery)."""

    targets: list[str]
    labels: dict[str, str]
