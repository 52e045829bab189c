"""The absolute form of the addresses a page names."""

from __future__ import annotations

from typing import Any

from smartspider.core.requests.urls import normal_url

_LONGEST = 8_192


def absolute(url: Any, base: str) -> str | None:
    """The absolute http(s) URL a text names, or None if it names none."""
    if not isinstance(url, str):
        return None
    url = url.strip()
    if not url or len(url) > _LONGEST:
        return None
    return normal_url(url, base)
