"""A cookie jar: the cookies that servers set, and those that a request is sent with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

import msgspec

from smartspider.core.cookies.set_cookie import FOREVER, SetCookie, parse_set_cookie
from smartspider.core.requests.domains import is_ip_address, is_public_suffix
from smartspider.core.requests.urls import host_of, path_of

MAX_COOKIES_PER_DOMAIN = 180
MAX_DOMAINS = 10_000
MAX_HEADERS = 1_000

_SECURE_PREFIX = b"__secure-"
_HOST_PREFIX = b"__host-"
_EXTENDED = 0.1
"""A cookie that comes again with its value is changed if its lifetime grows by more than this share."""

CookieKey = tuple[str, str, bytes]
"""Domain, path and name."""


class Cookie(msgspec.Struct, frozen=True, gc=False):
    """A cookie of a jar. `number` orders cookies by age: the one set first has the lowest."""

    domain: str
    path: str
    name: bytes
    value: bytes
    number: int
    set_at: float
    """The moment it got its value; where two jars differ, the later one is right."""
    is_host_only: bool = False
    is_secure: bool = False
    expires_at: float = FOREVER
    """The moment it ends; 0: it was deleted."""

    @property
    def key(self) -> CookieKey:
        """Its identity: a later cookie with this key replaces it."""
        return self.domain, self.path, self.name

    @property
    def is_deleted(self) -> bool:
        """Return whether this is the mark of a deleted cookie."""
        return self.expires_at <= 0.0

    def is_sent_to(self, path: str, *, is_secure: bool, is_own_host: bool, now: float) -> bool:
        """Return whether it goes to a path of its domain or of a host below it."""
        return (
            (is_own_host or not self.is_host_only)
            and (is_secure or not self.is_secure)
            and self.expires_at > now
            and _is_below(path, self.path)
        )

    def says_the_same_as(self, other: Cookie, now: float) -> bool:
        """Return whether the other one differs in nothing but a little time to live."""
        if msgspec.structs.replace(self, expires_at=other.expires_at, set_at=other.set_at) != other:
            return False
        if self.expires_at == other.expires_at:
            return True
        return abs(self.expires_at - other.expires_at) < _EXTENDED * (other.expires_at - now)


class CookieJar:
    """Keeps the cookies that servers set, and returns those for a request, byte for byte as they came.

    It also remembers which cookies changed until that is stored (`changes`, `confirm`), and takes over what
    other jars of its run stored (`merge`).
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._domains: dict[str, dict[tuple[str, bytes], Cookie]] = {}
        """Cookies by path and name, by domain; the domain changed last is the last one."""
        self._changed: dict[CookieKey, Cookie] = {}
        self._headers: dict[tuple[str, bool], tuple[bytes | None, float]] = {}
        """Headers for hosts whose cookies are the same for all paths, until one of them ends or changes."""
        self._last = 0

    async def refresh(self) -> None:
        """Do nothing: no other jar has cookies for this one."""

    def store(self, url: str, headers: Iterable[bytes]) -> None:
        """Store the cookies of the Set-Cookie headers of an answer."""
        now = self._now()
        host, is_secure = host_of(url), url.startswith("https:")
        for header in headers:
            cookie = parse_set_cookie(header, now)
            if cookie is None or (cookie.is_secure and not is_secure) or not keeps_prefix(cookie):
                continue
            domain = _domain_for(cookie, host)
            if domain is not None:
                self._set(domain, cookie, url, now)

    def header_for(self, url: str) -> bytes | None:
        """Return the value of the Cookie header of a request; None if there are no cookies for it."""
        if not self._domains:
            return None
        now, host, is_secure = self._now(), host_of(url), url.startswith("https:")
        header, until = self._headers.get((host, is_secure), (None, 0.0))
        if until > now:
            return header
        path = path_of(url)
        near = [
            (cookie, domain == host)
            for domain in _parents_of(host)
            for cookie in self._domains.get(domain, {}).values()
        ]
        found = [
            cookie
            for cookie, is_own_host in near
            if cookie.is_sent_to(path, is_secure=is_secure, is_own_host=is_own_host, now=now)
        ]
        found.sort(key=lambda cookie: (-len(cookie.path), cookie.number))
        header = b"; ".join([cookie.name + b"=" + cookie.value for cookie in found]) or None
        if all(cookie.path == "/" for cookie, _ in near):
            if len(self._headers) >= MAX_HEADERS:
                self._headers.clear()
            self._headers[host, is_secure] = header, min((one.expires_at for one in found), default=FOREVER)
        return header

    def changes(self) -> tuple[Cookie, ...]:
        """Return the cookies that were set or deleted and are not confirmed yet."""
        return tuple(self._changed.values())

    def confirm(self, stored: Iterable[Cookie]) -> None:
        """Forget changes that are stored, unless they changed again."""
        for cookie in stored:
            if self._changed.get(cookie.key) is cookie:
                del self._changed[cookie.key]

    def merge(self, cookies: Iterable[Cookie]) -> None:
        """Take over cookies that others stored, unless a newer value waits to be stored here."""
        for cookie in sorted(cookies, key=attrgetter("number")):
            own = self._changed.get(cookie.key)
            if own is None or own.set_at <= cookie.set_at:
                self._changed.pop(cookie.key, None)
                self._last = max(self._last, cookie.number)
                self._put(cookie)
        self._bound()

    def forget_stored(self) -> None:
        """Forget all cookies but those that wait to be stored."""
        self._domains = {}
        self._headers.clear()
        for cookie in self._changed.values():
            self._put(cookie)

    def _set(self, domain: str, cookie: SetCookie, url: str, now: float) -> None:
        path = cookie.path or _default_path(path_of(url))
        before = self._domains.get(domain, {}).get((path, cookie.name))
        is_alive = cookie.expires_at > now
        if before is None:
            if not is_alive:
                return
            self._last = max(self._last + 1, int(now * 1e6))
        after = Cookie(
            domain,
            path,
            cookie.name,
            cookie.value if is_alive else b"",
            self._last if before is None else before.number,
            now,
            not cookie.domain,
            cookie.is_secure,
            cookie.expires_at if is_alive else 0.0,
        )
        self._put(after)
        if before is None or not before.says_the_same_as(after, now) or after.key in self._changed:
            self._changed[after.key] = after
        self._bound(domain)

    def _put(self, cookie: Cookie) -> None:
        """Make a cookie the last one of its domain, and its domain the last one."""
        self._headers.clear()
        kept = self._domains.pop(cookie.domain, {})
        kept.pop((cookie.path, cookie.name), None)
        if not cookie.is_deleted:
            kept[cookie.path, cookie.name] = cookie
        if kept:
            self._domains[cookie.domain] = kept

    def _bound(self, *domains: str) -> None:
        """Delete the oldest cookies of domains, of all if none is named, and domains beyond the limit."""
        for domain in domains or list(self._domains):
            kept = list(self._domains.get(domain, {}).values())
            for cookie in kept[: max(len(kept) - MAX_COOKIES_PER_DOMAIN, 0)]:
                self._delete(cookie)
        while len(self._domains) > MAX_DOMAINS:
            for cookie in list(next(iter(self._domains.values())).values()):
                self._delete(cookie)

    def _delete(self, cookie: Cookie) -> None:
        deleted = msgspec.structs.replace(cookie, value=b"", set_at=self._now(), expires_at=0.0)
        self._put(deleted)
        self._changed[deleted.key] = deleted


def _domain_for(cookie: SetCookie, host: str) -> str | None:
    """Return the domain that a cookie of a host is for; None if the host must not set it."""
    domain = cookie.domain
    if not domain or domain == host:
        return host
    if not host.endswith(f".{domain}") or is_public_suffix(domain) or is_ip_address(host):
        return None
    return domain


def keeps_prefix(cookie: SetCookie) -> bool:
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


def _default_path(path: str) -> str:
    """Return the folder of a path: the path of cookies that name none."""
    return path[: path.rfind("/")] or "/"


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path.startswith(folder) and (
        len(path) == len(folder) or folder.endswith("/") or path[len(folder)] == "/"
    )
