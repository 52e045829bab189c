"""The cookies of a run's HTTP sessions, as browsers keep them (RFC 6265)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from smartspider.core.requests.domains import is_ip_address, is_public_suffix
from smartspider.core.requests.urls import host_of
from smartspider.fetch.cookies.set_cookie import SetCookie, parse_set_cookie
from smartspider.interfaces.clock import Clock

MAX_COOKIES_PER_DOMAIN = 180
MAX_DOMAINS = 10_000

_SECURE_PREFIX = b"__secure-"
_HOST_PREFIX = b"__host-"


class _Cookie(NamedTuple):
    """A stored cookie. `number` is its age: the one set first has the lowest."""

    name: bytes
    value: bytes
    path: str
    number: int
    is_host_only: bool
    is_secure: bool
    expires_at: float

    def is_sent_to(self, path: str, *, is_secure: bool, is_own_host: bool, now: float) -> bool:
        return (
            (is_own_host or not self.is_host_only)
            and (is_secure or not self.is_secure)
            and self.expires_at > now
            and _is_below(path, self.path)
        )


class SessionCookies:
    """Stores the cookies that servers set, and returns those for a request, byte for byte as they came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._domains: dict[str, dict[tuple[str, bytes], _Cookie]] = {}
        """Cookies by path and name, by domain; the domain changed last is the last one."""
        self._numbers = count()

    def store(self, url: str, headers: Iterable[bytes]) -> None:
        """Store the cookies of the Set-Cookie headers of an answer."""
        now = self._clock.now()
        host, is_secure = host_of(url), url.startswith("https:")
        for header in headers:
            cookie = parse_set_cookie(header, now)
            if cookie is None or (cookie.is_secure and not is_secure) or not _keeps_prefix(cookie):
                continue
            domain = _domain_for(cookie, host)
            if domain is not None:
                self._put(domain, cookie, url, now)

    def header_for(self, url: str) -> bytes | None:
        """Return the value of the Cookie header of a request; None if there are no cookies for it."""
        if not self._domains:
            return None
        now, host = self._clock.now(), host_of(url)
        path, is_secure = _path_of(url), url.startswith("https:")
        found = [
            cookie
            for domain in _parents_of(host)
            for cookie in self._domains.get(domain, {}).values()
            if cookie.is_sent_to(path, is_secure=is_secure, is_own_host=domain == host, now=now)
        ]
        found.sort(key=lambda cookie: (-len(cookie.path), cookie.number))
        return b"; ".join([cookie.name + b"=" + cookie.value for cookie in found]) or None

    def _put(self, domain: str, cookie: SetCookie, url: str, now: float) -> None:
        kept = self._domains.pop(domain, {})
        path = cookie.path or _default_path(_path_of(url))
        before = kept.pop((path, cookie.name), None)
        if cookie.expires_at > now:
            kept[path, cookie.name] = _Cookie(
                cookie.name,
                cookie.value,
                path,
                next(self._numbers) if before is None else before.number,
                not cookie.domain,
                cookie.is_secure,
                cookie.expires_at,
            )
        while len(kept) > MAX_COOKIES_PER_DOMAIN:
            del kept[next(iter(kept))]
        if kept:
            self._domains[domain] = kept
        while len(self._domains) > MAX_DOMAINS:
            del self._domains[next(iter(self._domains))]


def _domain_for(cookie: SetCookie, host: str) -> str | None:
    """Return the domain that a cookie of a host is for; None if the host must not set it."""
    domain = cookie.domain
    if not domain or domain == host:
        return host
    if not host.endswith(f".{domain}") or is_public_suffix(domain) or is_ip_address(host):
        return None
    return domain


def _keeps_prefix(cookie: SetCookie) -> bool:
    """Return False for a cookie whose name promises more than its attributes hold."""
    name = cookie.name.lower()
    if name.startswith(_HOST_PREFIX):
        return cookie.is_secure and not cookie.domain and cookie.path == "/"
    return cookie.is_secure or not name.startswith(_SECURE_PREFIX)


def _parents_of(host: str) -> list[str]:
    """Return the host and all domains above it."""
    if is_ip_address(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[index:]) for index in range(len(labels))]


def _path_of(url: str) -> str:
    return url[url.find("/", 8) :].partition("?")[0]


def _default_path(path: str) -> str:
    """Return the folder of a path: the path of cookies that name none."""
    return path[: path.rfind("/")] or "/"


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path.startswith(folder) and (
        len(path) == len(folder) or folder.endswith("/") or path[len(folder)] == "/"
    )
