"""Views of cookies. Only a lease has values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from smartspider.core.cookies.jar import Cookie
from smartspider.core.cookies.set_cookie import FOREVER
from smartspider.core.cookies.sets import CookieSet, SignedOutRule
from smartspider.core.datetimes import format_time

CookieViewState = Literal["active", "invalid", "locked", "expired"]


class CookieSetView(msgspec.Struct, frozen=True):
    """The cookies of a login at a site, without their values."""

    id: str
    domain: str
    name: str
    owner: str
    shared: bool
    """True if the tasks of all users may use them, not only those of their owner."""
    state: CookieViewState
    """`invalid`: the site asked for a login. `locked`: a person set them aside. `expired`: none is left."""
    reason: str
    """Why they are invalid or locked."""
    cookies: int
    """Number of cookies that have not expired."""
    limit: int
    """Requests that may use them at the same time."""
    lent: int
    """Slots that are lent now."""
    usage_count: int
    """Requests that were sent with them."""
    last_used: str | None
    check_url: str
    signed_out: SignedOutRule
    checked_at: str | None
    created_at: str
    updated_at: str


class CookieNameView(msgspec.Struct, frozen=True):
    """A cookie without its value."""

    name: str
    domain: str
    path: str
    host_only: bool
    secure: bool
    expires_at: str | None
    """None: it does not expire by itself."""


class CookieDetailsView(CookieSetView, frozen=True, kw_only=True):
    """The cookies of a login, each by its name."""

    names: Sequence[CookieNameView]


class UploadedView(CookieSetView, frozen=True, kw_only=True):
    """Uploaded cookies, and how many were left out."""

    foreign: int
    """Cookies of other domains."""
    expired: int


class GrabbedView(UploadedView, frozen=True, kw_only=True):
    """Uploaded cookies of a browser, and where they were found."""

    browser: str
    profile: str
    container: int | None
    """Number of the container tab of Firefox."""


class LentCookieView(msgspec.Struct, frozen=True):
    """A cookie with its value, as browsers and Playwright take it."""

    name: str
    value: str
    domain: str
    path: str
    secure: bool
    expires: float
    """Seconds since 1970; -1: with the session."""


class CookieLeaseView(msgspec.Struct, frozen=True):
    """Lent cookies. They may be used until the lease ends; renew it before."""

    lease_id: str
    cookie_id: str
    ttl_s: float
    cookies: Sequence[LentCookieView]


class RenewedLeaseView(msgspec.Struct, frozen=True):
    """A renewed lease."""

    lease_id: str
    ttl_s: float


class CookieCheckView(msgspec.Struct, frozen=True):
    """The result of fetching a page with cookies."""

    ok: bool
    url: str
    status: int | None
    reason: str
    """Why the login does not work, or why that could not be found out."""
    cookies: CookieSetView


def set_fields(one: CookieSet, cookies: int, lent: int) -> dict[str, object]:
    """Return the fields of the view of a set."""
    is_expired = one.state == "active" and not cookies
    return {
        "id": str(one.id),
        "domain": one.domain,
        "name": one.name,
        "owner": one.owner,
        "shared": one.is_shared,
        "state": "expired" if is_expired else one.state,
        "reason": one.reason,
        "cookies": cookies,
        "limit": one.slots,
        "lent": lent,
        "usage_count": one.usage_count,
        "last_used": format_time(one.used_at) if one.used_at else None,
        "check_url": one.check_url,
        "signed_out": one.signed_out,
        "checked_at": None if one.checked_at is None else format_time(one.checked_at),
        "created_at": format_time(one.created_at),
        "updated_at": format_time(one.updated_at),
    }


def lent_cookie(cookie: Cookie) -> LentCookieView:
    """Return the view of a lent cookie. A domain with a dot in front is also for the hosts below it."""
    return LentCookieView(
        cookie.name.decode(errors="replace"),
        cookie.value.decode(errors="replace"),
        cookie.domain if cookie.is_host_only else f".{cookie.domain}",
        cookie.path,
        cookie.is_secure,
        -1 if cookie.expires_at == FOREVER else cookie.expires_at,
    )
