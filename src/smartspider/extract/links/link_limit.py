"""The maximum of links per page, and refusals that the page itself asks for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.pages.extraction import LINKS_OVERFLOW, Link
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.scope import page_is_full

LINK_NOFOLLOW = Refusal("nofollow", 'nofollow: the link says rel="nofollow"')
PAGE_NOFOLLOW = Refusal("nofollow", "nofollow: the page says so (meta robots)")


def within_limit(links: Sequence[Link], max_links: int) -> list[Link]:
    """Return the links, those beyond the maximum refused, and of these only the first."""
    kept = list(links[:max_links])
    overflow = links[max_links : max_links + LINKS_OVERFLOW]
    if overflow:
        refusal = page_is_full(max_links)
        kept += [msgspec.structs.replace(link, refusal=refusal) for link in overflow]
    return kept
