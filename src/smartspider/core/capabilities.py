"""Capabilities: the transports a worker has, and those a run needs."""

from __future__ import annotations

from collections.abc import Iterable

HTTP_ONLY = frozenset({"http"})
"""The default of workers and runs."""


def encode_capabilities(names: Iterable[str]) -> str:
    """Return the stored form: sorted names, separated by spaces."""
    return " ".join(sorted(names))


def decode_capabilities(text: str) -> frozenset[str]:
    """Return the names of a stored form."""
    return HTTP_ONLY if text == "http" else frozenset(text.split())
