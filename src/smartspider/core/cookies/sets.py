"""Sets of cookies: the cookies of a login at a site, as they are stored, listed and lent."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from smartspider.core.requests.domains import is_ip_address

CookieState = Literal["active", "invalid", "locked"]
"""active: may be lent · invalid: the site asked for a login · locked: a person set it aside."""
COOKIE_STATES: tuple[CookieState, ...] = get_args(CookieState)
CookieOutcome = Literal["ok", "invalid", "error"]
"""The report of a borrower that gives a set back."""

NUMBER_OF_SLOTS = 4
"""Requests that may use a set at the same time, unless its owner says otherwise: as many as a host gets."""
TERM_S = 30.0
"""A borrowed slot returns after this time unless it is renewed."""


class SignedOutRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """Marks of a page whose site no longer knows the login. Any of them decides."""

    status: tuple[int, ...] = ()
    url: str = ""
    """A part of the URL where the redirects end, such as `/login`."""
    selector: str = ""
    """A CSS selector that only pages without a login have."""
    json: str = ""
    """A JMESPath expression that is true only without a login."""


class CookieSet(msgspec.Struct, frozen=True, kw_only=True):
    """The cookies of a login, without their values."""

    id: int
    domain: str
    name: str
    """Empty if it has none."""
    owner: str
    is_shared: bool
    """True if the tasks of all users may use it, not only those of its owner."""
    state: CookieState
    slots: int
    check_url: str
    """A page that is fetched to see whether the login still works; empty: none."""
    signed_out: SignedOutRule
    uploads: int
    """Number of uploads: what was learned with earlier cookies is not true of later ones."""
    version: int
    """Number of the last change to its cookies."""
    usage_count: int
    used_at: float
    """0: never."""
    reason: str
    """Why it is not active."""
    checked_at: float | None
    created_at: float
    updated_at: float

    @property
    def title(self) -> str:
        """Its name and number, for messages."""
        return f"cookies {self.id}" + (f" ({self.name})" if self.name else "")


class CookieLease(msgspec.Struct, frozen=True):
    """A slot of a set, lent until its term ends."""

    token: str
    set_id: int
    shared_with_others: bool
    """The set has other slots, so that others may change its cookies."""


def domains_above(host: str) -> list[str]:
    """Return the domains whose sets are for a host, the nearest first."""
    if is_ip_address(host) or "." not in host:
        return [host]
    labels = host.split(".")
    return [".".join(labels[index:]) for index in range(len(labels) - 1)]


def is_in_domain(host: str, domain: str) -> bool:
    """Return whether a host is a domain or below it. A name without a dot is a host alone."""
    return host == domain or ("." in domain and host.endswith(f".{domain}") and not is_ip_address(host))
