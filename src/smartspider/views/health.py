"""Views of health checks."""

from __future__ import annotations

from typing import Literal

import msgspec


class HealthView(msgspec.Struct, frozen=True):
    """The process is alive."""

    status: Literal["ok"]
    version: str


class AboutView(msgspec.Struct, frozen=True):
    """A server: its version, and the nouns that its API has operations for."""

    version: str
    capabilities: list[str]


class CheckView(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    ok: bool
    detail: str


class ReadyView(msgspec.Struct, frozen=True):
    """Readiness to run tasks; `missing` names the checks that fail."""

    ready: bool
    missing: list[str]
    checks: list[CheckView]


class TargetsView(msgspec.Struct, frozen=True):
    """A target of Prometheus' HTTP service discovery."""

    targets: list[str]
    labels: dict[str, str]
