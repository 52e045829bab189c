"""URLs: a normalized form to fetch and a canonical form to compare."""

from __future__ import annotations

import re
from string import ascii_letters, digits
from typing import NamedTuple

import ada_url

TRACKING_PARAMS = frozenset(
    "gclid gclsrc dclid gbraid wbraid fbclid msclkid yclid ysclid twclid ttclid li_fat_id igshid "
    "mc_cid mc_eid mkt_tok vero_id vero_conv oly_anon_id oly_enc_id _hsenc _hsmi __hssc __hstc "
    "hsctatracking s_cid spm scm rb_clickid wickedid _openstat".split()
)
"""Query parameters that only track visitors, in lower case."""

_TRACKING_PREFIX = "utm_"


class CanonicalRules(NamedTuple):
    """Query parameters that are ignored when URLs are compared (`dedup` in the task)."""

    ignore_params: frozenset[str] = frozenset()
    drop_tracking: bool = True


def normal_url(url: str, base: str | None = None, *, keeps_fragment: bool = False) -> str | None:
    """Return an http(s) URL in WHATWG form, without its fragment unless told to keep it, or None for anything
    else.
    """
    try:
        normal = ada_url.join_url(base, url) if base is not None else ada_url.normalize_url(url)
    except ValueError:
        return None
    if not normal.startswith(("http://", "https://")):
        return None
    cut = normal.find("#")
    return normal if cut < 0 or keeps_fragment else normal[:cut]


def is_url(text: str) -> bool:
    """Return True if a text can be parsed as an absolute URL; cheaper than `normal_url`."""
    return ada_url.check_url(text)


def canonical_url(normal: str, rules: CanonicalRules = CanonicalRules()) -> str:
    """Return the form for comparison: one spelling of escapes, query sorted by name, tracking and ignored
    parameters removed. Equal names keep their order, which may have a meaning.

    Takes a URL from `normal_url`. The URL that is fetched keeps its order and spelling.
    """
    if "%" in normal:
        normal = _spell_escapes(normal)
    mark = normal.find("?")
    if mark < 0:
        return normal
    kept = [part for part in normal[mark + 1 :].split("&") if part and not _is_ignored(part, rules)]
    if not kept:
        return normal[:mark]
    if len(kept) > 1:
        kept.sort(key=_sort_key)
    return f"{normal[:mark]}?{'&'.join(kept)}"


def _sort_key(part: str) -> str:
    """Return the name of a query parameter, with its equals sign even if it has none."""
    return part.partition("=")[0] + "="


def _spellings(plain: str, special: dict[str, str]) -> dict[str, str]:
    """Return the canonical spelling of all escapes: the character itself if it is in `plain`, that of
    `special`, or upper case. A stray percent sign is escaped.
    """
    table = {"%": "%25"}
    for code in range(256):
        escape = f"%{code:02X}"
        canonical = chr(code) if chr(code) in plain else special.get(escape, escape)
        for first in {escape[1], escape[1].lower()}:
            for second in {escape[2], escape[2].lower()}:
                table[f"%{first}{second}"] = canonical
    return table


# Characters that mean the same with and without escape. The parser leaves all of them as they are; those that
# separate parts (`/`, `;`, `?`, and in a query `&`, `=`, `+`) have a meaning of their own.
_SAME_ESCAPED = ascii_letters + digits + "-._~!$()*,:@[]|"
_ESCAPE = re.compile("%(?:[0-9A-Fa-f]{2})?")
_PATH_ESCAPES = _spellings(_SAME_ESCAPED + "'&=", {})
_QUERY_ESCAPES = _spellings(_SAME_ESCAPED + "/?", {"%20": "+"})


def _spell_escapes(normal: str) -> str:
    """Return the URL with path and query escaped in one way: `%e4` and `%E4`, `%7E` and `~`, and in a query
    `%20` and `+` are the same.
    """
    start = normal.find("/", 8)
    path, mark, query = normal[start:].partition("?")
    path = _ESCAPE.sub(lambda found: _PATH_ESCAPES[found[0]], path)
    query = _ESCAPE.sub(lambda found: _QUERY_ESCAPES[found[0]], query)
    return f"{normal[:start]}{path}{mark}{query}"


def _is_ignored(part: str, rules: CanonicalRules) -> bool:
    name = part.partition("=")[0]
    if name in rules.ignore_params:
        return True
    if not rules.drop_tracking:
        return False
    lowered = name.lower()
    return lowered.startswith(_TRACKING_PREFIX) or lowered in TRACKING_PARAMS


def origin_of(normal: str) -> str:
    """Return `scheme://host[:port]` of a normalized URL, without user information."""
    scheme_end = normal.index("://") + 3
    return normal[:scheme_end] + authority_of(normal)


def authority_of(normal: str) -> str:
    """Return `host[:port]` of a normalized URL, without user information."""
    start = normal.index("://") + 3
    end = len(normal)
    for mark in "/?":
        found = normal.find(mark, start, end)
        if found >= 0:
            end = found
    return normal[start:end].rpartition("@")[2]


def host_of(normal: str) -> str:
    """Return the host of a normalized URL in punycode, without port and trailing dot. Politeness applies to
    it.
    """
    authority = authority_of(normal)
    if authority.startswith("["):
        return authority[: authority.index("]") + 1]
    return authority.partition(":")[0].removesuffix(".")


def path_of(normal: str) -> str:
    """Return the path of a normalized URL."""
    return normal[normal.find("/", 8) :].partition("?")[0]


def port_of(normal: str) -> int:
    """Return the port of a normalized URL."""
    port = authority_of(normal).rpartition("]")[2].rpartition(":")[2]
    if port.isdigit():
        return int(port)
    return 443 if normal.startswith("https:") else 80
