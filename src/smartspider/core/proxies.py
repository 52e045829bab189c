"""Proxies of a pool as they are stored and listed, and the form of their URLs."""

from __future__ import annotations

import re
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec

from smartspider.core.errors import Problem, RequestInvalid

ProxyKind = Literal["http", "https", "socks5", "socks5h"]
PROXY_KINDS: tuple[ProxyKind, ...] = get_args(ProxyKind)
_PORTS: dict[ProxyKind, int] = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_HINT = "write it as http://user:password@host:port; https, socks5 and socks5h work too"
_NOT_PRINTABLE = re.compile(r"[^\x21-\x7e]")


class ProxyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A proxy, without its user and password."""

    id: int
    pool: str
    kind: ProxyKind
    address: str
    """Host and port."""
    weight: float
    owner: str
    requests: int
    failures: int
    """Requests that the proxy failed; those that a host failed are not counted."""
    success: float
    """Moving average of the share of requests that the proxy did not fail."""
    latency_s: float | None
    """Moving average; None: never used."""
    banned_until: float
    ban_s: float
    """Length of the last ban, which the next one doubles; 0 after a request that worked."""
    error: str
    """Why it failed last; empty after a request that worked."""
    created_at: float
    used_at: float | None
    """When a worker last reported a request; None: never used."""

    @property
    def url(self) -> str:
        """The URL without user and password."""
        return f"{self.kind}://{self.address}"


class ProxyUrl(msgspec.Struct, frozen=True):
    """The URL of a proxy, with the parts of it that are no secret."""

    url: str
    kind: ProxyKind
    address: str


def parse_proxy_url(text: str) -> ProxyUrl:
    """Return the parts of a proxy's URL; raise `RequestInvalid`, without repeating it, if it is not one."""
    text = text.strip()
    if _NOT_PRINTABLE.search(text):
        raise _invalid("has a space, or a character that is not ASCII", "percent-encode it")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _invalid("is not a URL", _HINT) from None
    kind = next((one for one in PROXY_KINDS if one == parts.scheme), None)
    if kind is None:
        raise _invalid(f"does not begin with {', '.join(f'{one}://' for one in PROXY_KINDS)}", _HINT)
    if not parts.hostname or port == 0:
        raise _invalid("has no host" if not parts.hostname else "has port 0", _HINT)
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise _invalid("has more than a host and a port", f"{_HINT}; percent-encode /, ? and # in a password")
    return _proxy_url(kind, parts, parts.hostname, port or _PORTS[kind])


def _proxy_url(kind: ProxyKind, parts: SplitResult, host: str, port: int) -> ProxyUrl:
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    userinfo, at, _ = parts.netloc.rpartition("@")
    return ProxyUrl(f"{kind}://{userinfo}{at}{address}", kind, address)


def _invalid(what: str, hint: str) -> RequestInvalid:
    return RequestInvalid(f"the URL of the proxy {what}", (Problem("url", what, hint),), hint=hint)
