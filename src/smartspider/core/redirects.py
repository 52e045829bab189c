"""Where an answer redirects to."""

from __future__ import annotations

from smartspider.core.errors import BadRedirect
from smartspider.core.page import Page
from smartspider.core.urls import normal_url

REDIRECTS = frozenset({301, 302, 303, 307, 308})


def redirect_target(page: Page) -> str | None:
    """The normal URL a page redirects to; None when it is no redirect.

    Raises `BadRedirect` for a redirect without a Location, or to something that is not an http(s) URL.
    """
    if page.status not in REDIRECTS:
        return None
    location = page.headers.get("location")
    if location is None:
        raise BadRedirect(f"{page.url} answers {page.status} without a Location")
    target = normal_url(location.strip(), page.url)
    if target is None:
        raise BadRedirect(f"{page.url} redirects to {location[:200]!r}, which is not an http(s) URL")
    return target
