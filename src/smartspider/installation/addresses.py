"""Address policies of commands and servers: the private addresses that crawls may reach."""

from __future__ import annotations

from functools import lru_cache

from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings


def address_policy(plan: Plan, settings: Settings) -> AddressPolicy:
    """Return the policy of a command: the addresses of the settings and of the task's entries."""
    return AddressPolicy.parse(settings.allow_private, [entry.url for entry in plan.entries])


def server_policy(settings: Settings) -> AddressPolicy:
    """Return the policy of a server: the addresses of the settings, whatever a task names."""
    return _parsed(settings.allow_private)


@lru_cache(maxsize=8)
def _parsed(text: str) -> AddressPolicy:
    return AddressPolicy.parse(text)
