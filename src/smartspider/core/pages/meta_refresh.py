"""`<meta http-equiv="refresh">`: a redirect in markup, as browsers follow it."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

from smartspider.core.requests.urls import normal_url

LONGEST_S = 5
"""A page that is shown for longer has something to say, or reloads itself."""
HEAD_BYTES = 8_192
"""The part of a page that is searched, for a few microseconds. Pages that only forward are short."""

_MEDIA_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_MENTION = re.compile(rb"http-equiv\s*+=\s*+[\"']?\s*+refresh")
# Text without tags, and `noscript`, which browsers that run scripts do not read. All patterns here are
# possessive, and a part that does not end is the rest of the page: the search is linear.
_TAG = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<text>script|style|noscript|template|textarea|title|xmp|iframe|noembed|noframes)"
    rb"(?=[\s/>])|(?P<tag>meta|base)(?=[\s/]))"
)
_REST_OF_TAG = re.compile(rb"""((?:[^>"']|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+""", re.DOTALL)
_CONTENT = re.compile(
    r"\s*+(?:([0-9]++)[0-9.]*+|\.[0-9.]*+)(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(.*)",
    re.DOTALL | re.IGNORECASE,
)


class _Refresh(NamedTuple):
    delay_s: int
    url: str


def refresh_target(url: str, media_type: str, charset: str, body: bytes) -> str | None:
    """Return the normalized URL that a page at `url` forwards its visitors to within `LONGEST_S`, or None.

    A page that leads to itself is reloaded, not left; so is one that is shown for a while and then leads to
    its own path with another query.
    """
    head = body[:HEAD_BYTES]
    lowered = head.lower()
    if b"http-equiv" not in lowered or _MENTION.search(lowered) is None:  # nearly every page
        return None
    if media_type not in _MEDIA_TYPES and (media_type or not body.lstrip().startswith(b"<")):
        return None
    found = _find(head, lowered, charset, url)
    if found is None or found.delay_s > LONGEST_S or found.url == url:
        return None
    if found.delay_s and found.url.partition("?")[0] == url.partition("?")[0]:
        return None
    return found.url


def _find(head: bytes, lowered: bytes, charset: str, url: str) -> _Refresh | None:
    """Return the first refresh of a page, which decides."""
    base = ""
    at = 0
    while (begin := _TAG.search(lowered, at)) is not None:
        if begin["tag"] is None:
            end = b"-->" if begin["comment"] else b"</" + begin["text"]
            # `<!-->` is a whole comment.
            at = lowered.find(end, begin.end() - 2 if begin["comment"] else begin.end())
            if at < 0:
                return None
            at += len(end)
            continue
        rest = _REST_OF_TAG.match(head, begin.end())
        if rest is None:
            return None
        at = rest.end()
        attributes = _attributes(rest[1].decode(charset, errors="replace"))
        if begin["tag"] == b"base":
            base = base or normal_url(attributes.get("href", ""), url) or ""
        elif attributes.get("http-equiv", "").strip().lower() == "refresh":
            content = _CONTENT.fullmatch(attributes.get("content", ""))
            written = "" if content is None else _unquoted(content[2])
            target = normal_url(written, base or url) if written else None
            if content is None or target is None:
                continue
            digits = (content[1] or "0").lstrip("0")[:9] or "0"
            return _Refresh(int(digits), target)
    return None


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag; of equal names the first counts."""
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower(), unescape("".join(values)))
    return found


def _unquoted(text: str) -> str:
    """Return a URL without its quotes, and without what follows them."""
    quote = text[:1]
    return text[1:].partition(quote)[0] if quote in ("'", '"') else text.strip()
