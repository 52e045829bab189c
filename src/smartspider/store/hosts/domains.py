"""Registrable domains."""

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
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    return str(_suffixes().privatesuffix(host) or host)
