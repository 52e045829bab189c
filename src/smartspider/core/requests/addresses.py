"""The address policy: public addresses, and private ones that are opened explicitly (SSRF protection)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

import msgspec

from smartspider.core.errors import PrivateAddress, SettingInvalid
from smartspider.core.requests.urls import host_of, normal_url, port_of

SETTING = "SMARTSPIDER_ALLOW_PRIVATE"

Address = IPv4Address | IPv6Address

_PRIVATE_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    ).split()
)
_PRIVATE_V6 = tuple(
    IPv6Network(text)
    for text in (
        "::/128 ::1/128 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16 fc00::/7 "
        "fe80::/10 fec0::/10 ff00::/8"
    ).split()
)
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("::/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
)
"""IPv6 ranges that embed an IPv4 address, and its shift: mapped, translated, compatible, NAT64, 6to4."""


class AddressPolicy(msgspec.Struct, frozen=True):
    """Refuses private addresses unless the host, the host and port, or the address is opened."""

    opens_all: bool = False
    hosts: frozenset[str] = frozenset()
    """Hosts open on every port."""
    authorities: frozenset[tuple[str, int]] = frozenset()
    """Hosts open on one port."""
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, text: str, entry_urls: Sequence[str] = ()) -> AddressPolicy:
        """Parse a setting (`1`, or a comma list of host[:port] and CIDRs), and open the hosts of entry URLs.

        Raise `SettingInvalid` for any other part.
        """
        if text.strip() == "1":
            return cls(opens_all=True)
        hosts: set[str] = set()
        authorities = {_authority_of(url) for url in entry_urls}
        networks: list[IPv4Network | IPv6Network] = []
        for part in filter(None, map(str.strip, text.split(","))):
            if part == "0":
                continue
            if part.lower() in {"true", "yes", "on", "all", "*"}:
                raise _bad_part(part)
            if "/" in part:
                networks.append(_network(part))
            else:
                host, port = _host_and_port(part)
                if port is None:
                    hosts.add(host)
                else:
                    authorities.add((host, port))
        return cls(False, frozenset(hosts), frozenset(authorities), tuple(networks))

    def refuse_url(self, url: str) -> PrivateAddress | None:
        """Return the refusal of a URL by its text, or None; other names are checked when they resolve."""
        host, port = _authority_of(url)
        if self.is_open(host, port):
            return None
        literal = _literal(host)
        if literal is not None:
            return None if self.permits(literal) else _refusal(host, port, "is a private address")
        is_local = host == "localhost" or host.endswith(".localhost")
        if is_local and not any(self.permits(ip_address(own)) for own in ("127.0.0.1", "::1")):
            return _refusal(host, port, "means this machine")
        return None

    def refuse_resolved(self, host: str, port: int, resolved: Sequence[str]) -> PrivateAddress:
        """Return the refusal of a name that resolves to private addresses only."""
        shown = ", ".join(resolved[:3])
        return _refusal(_comparable(host), port, f"resolves to {shown}, a private address")

    def is_open(self, host: str, port: int) -> bool:
        """Return whether a host is opened by name, whatever its address."""
        host = _comparable(host)
        return self.opens_all or host in self.hosts or (host, port) in self.authorities

    def permits(self, address: Address) -> bool:
        """Return whether an address is public or in an opened network."""
        if self.opens_all or not is_private(address):
            return True
        forms = (address, _embedded(address))
        return any(form is not None and form in network for network in self.networks for form in forms)


def is_private(address: Address) -> bool:
    """Return whether an address is not a public unicast address, also if embedded in an IPv6 address."""
    if isinstance(address, IPv4Address):
        return any(address in network for network in _PRIVATE_V4)
    if any(address in network for network in _PRIVATE_V6):
        return True
    inner = _embedded(address)
    return inner is not None and is_private(inner)


def _embedded(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    for network, shift in _EMBEDDING:
        if address in network:
            return IPv4Address((int(address) >> shift) & 0xFFFF_FFFF)
    return None


def _refusal(host: str, port: int, why: str) -> PrivateAddress:
    return PrivateAddress(
        f"{host} {why}; private addresses are refused unless {SETTING}={host}:{port} opens them",
        hint=f"set {SETTING} to a comma list of host[:port] and CIDRs, or to 1 for all",
    )


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _comparable(host: str) -> str:
    """Return a host in the form of a normalized URL, without the trailing dot of a full name."""
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    normal = normal_url(f"http://{bracketed}/")
    return (host_of(normal) if normal is not None else host).rstrip(".")


def _authority_of(url: str) -> tuple[str, int]:
    normal = normal_url(url)
    if normal is None:
        raise SettingInvalid(f"{url!r} is not an http(s) URL")
    return host_of(normal).rstrip("."), port_of(normal)


def _network(part: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(part, strict=False)
    except ValueError as error:
        raise _bad_part(part) from error


def _host_and_port(part: str) -> tuple[str, int | None]:
    text = f"[{part}]" if part.count(":") > 1 and not part.startswith("[") else part
    normal = normal_url(f"http://{text}/")
    if normal is None or any(mark in text for mark in "@#?\\ "):
        raise _bad_part(part)
    tail = text.rpartition("]")[2].partition(":")
    return host_of(normal).rstrip("."), port_of(normal) if tail[1] else None


def _bad_part(part: str) -> SettingInvalid:
    return SettingInvalid(
        f"{SETTING}: {part!r} is neither a host[:port] nor a CIDR",
        hint=f"examples: {SETTING}=1 or {SETTING}=intranet.example:8080,10.0.0.0/8",
    )
