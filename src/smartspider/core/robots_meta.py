"""What an answer's X-Robots-Tag header says about following its links."""

from __future__ import annotations

ROBOTS_TOKEN = "SmartSpider"  # noqa: S105 - a product token, no secret
"""The name robots.txt and X-Robots-Tag know us by."""

_FORBIDS = frozenset({"nofollow", "none"})
_TAKES_VALUE = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def header_forbids_follow(headers: dict[str, str]) -> bool:
    """Whether the links of a page must not be followed, by `nofollow` or `none` for everybody or for us."""
    value = headers.get("x-robots-tag")
    if value is None:
        return False
    is_ours = True
    for part in value.split(","):
        directive = part.strip().lower()
        name, colon, rest = directive.partition(":")
        name = name.strip()
        if colon and " " not in name and name not in _TAKES_VALUE:
            # "otherbot: noindex, nofollow": the name holds until the next one; a part of a date is no name.
            is_ours = name == ROBOTS_TOKEN.lower()
            directive = rest.strip()
        if is_ours and directive in _FORBIDS:
            return True
    return False
