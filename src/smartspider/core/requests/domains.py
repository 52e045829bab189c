"""Domains: the registrable domain of a host, and public suffixes."""

from __future__ import annotations

from functools import lru_cache

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=65536)
def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host, such as `example.co.uk` of `a.example.co.uk`. An IP address is
    its own.
    """
    return host if is_ip_address(host) else str(_suffixes().privatesuffix(host) or host)


@lru_cache(maxsize=4096)
def is_public_suffix(domain: str) -> bool:
    """Return whether everybody can register names below a domain, such as `co.uk`."""
    return _suffixes().privatesuffix(domain) is None


def is_top_level(name: str) -> bool:
    """Return whether a name without a dot is a known top-level domain, not a host such as `localhost`."""
    return _suffixes().publicsuffix(name, accept_unknown=False) is not None


def is_ip_address(host: str) -> bool:
    """Return whether the host of a normalized URL is an address, not a name."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()
