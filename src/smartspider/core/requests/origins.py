"""The origins that the secrets of a run may be sent to."""

from __future__ import annotations

from collections.abc import Iterable

from smartspider.core.requests.urls import normal_url, origin_of


def trusted_origins(url: str) -> tuple[str, ...]:
    """Return the origins that secrets for a URL may be sent to: its own, and on default ports the same host
    by https.
    """
    origin = origin_of(url)
    scheme, _, authority = origin.partition("://")
    has_port = authority.rpartition("]")[2].find(":") >= 0
    return (origin,) if scheme == "https" or has_port else (origin, f"https://{authority}")


def fixed_origin(template: str | None) -> str | None:
    """Return the origin of a URL template, or None if a page has a say in it."""
    head = (template or "").partition("{")[0]
    scheme, _, rest = head.partition("://")
    is_whole = any(mark in rest for mark in "/?#") or head == template
    url = normal_url(head) if scheme and rest and is_whole else None
    return None if url is None else origin_of(url)


class OriginTrust:
    """Decides where the secrets of a run are sent.

    1. Headers of the task go to the origins of its entries.
    2. Headers and bodies of single requests go there as well, and to the origins that `requests` of the task
       are written for.
    3. A redirect or a next page takes them to another origin only if the task names it.
    4. All of them go to the origins that the task names.
    """

    def __init__(
        self, entries: Iterable[str], *, requests: Iterable[str] = (), named: Iterable[str] = ()
    ) -> None:
        self._named = frozenset(named)
        self._task = self._named | {origin for url in entries for origin in trusted_origins(url)}
        self._requests = self._task | frozenset(requests)

    def is_for_task(self, url: str) -> bool:
        """Return whether secret headers of the task are sent to a URL."""
        return origin_of(url) in self._task

    def is_for_requests(self, url: str) -> bool:
        """Return whether secret headers and bodies of single requests are sent to a URL."""
        return origin_of(url) in self._requests

    def goes_on(self, url: str, target: str) -> bool:
        """Return whether secrets that are for a URL are sent to a target that its page chose."""
        origin = origin_of(target)
        return origin in self._named or origin in trusted_origins(url)


UNNAMED = OriginTrust(())
"""The trust of requests whose task names no origin."""
