"""Private addresses that are open, by who asks for them."""

from __future__ import annotations

from functools import lru_cache

from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings


def address_policy(plan: Plan, settings: Settings) -> AddressPolicy:
    """Those open to a command: the installation's, and the entries a person gave."""
    return AddressPolicy.parse(settings.allow_private, [entry.url for entry in plan.entries])


def server_policy(settings: Settings) -> AddressPolicy:
    """Those open to a server: the installation's, whatever a task names."""
    return _parsed(settings.allow_private)


@lru_cache(maxsize=8)
def _parsed(text: str) -> AddressPolicy:
    return AddressPolicy.parse(text)
