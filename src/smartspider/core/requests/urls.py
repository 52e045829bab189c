"""URLs: a normalized form to fetch and a canonical form to compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
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

_SESSION_NAMES = frozenset("jsessionid phpsessid zenid oscsid xtcsid asp.net_sessionid".split())
_ASP_SESSION = "aspsessionid"
_DOUBTFUL_NAMES = frozenset("sid sessid sess_id sessionid session_id cfid cftoken".split())
"""Names of session ids that also have other meanings: only a value that looks like a token is one."""
_LONG_VALUE = r"(?:(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[0-9A-Za-z_-]{16,}|[0-9a-z]{26,})(?![0-9A-Za-z_-])"
_IS_TOKEN = re.compile(_LONG_VALUE)
_SURE = rf"(?:{'|'.join(map(re.escape, sorted(_SESSION_NAMES)))}|{_ASP_SESSION}[a-z]*)="
_DOUBTFUL = rf"(?:{'|'.join(sorted(_DOUBTFUL_NAMES))})="
_PATH_SESSION = re.compile(
    rf"(?<!/\.)(?<!/\.\.);(?:{_SURE}[^/;]*|{_DOUBTFUL}{_LONG_VALUE}(?=[/;]|$))", re.IGNORECASE
)
_TEXT_SESSION = re.compile(
    rf"[;?&](?:{_SURE}[^\s\"'<>;?&#\\]*|{_DOUBTFUL}{_LONG_VALUE})".encode(), re.IGNORECASE
)
_HAS_DOUBTFUL = re.compile(rf"[?&;]{_DOUBTFUL}", re.IGNORECASE)


class CanonicalRules(NamedTuple):
    """Parts of URLs that are ignored when they are compared (`dedup` in the task)."""

    ignore_params: frozenset[str] = frozenset()
    drop_tracking: bool = True
    drop_session_ids: bool = True
    keep_doubtful: bool = False
    """Parameters such as `sid` distinguish pages: URLs were seen together that differ by these alone."""


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
    parameters and session ids removed. Equal names keep their order, which may have a meaning.

    Takes a URL from `normal_url`. The URL that is fetched keeps its order and spelling.
    """
    if "%" in normal:
        normal = _spell_escapes(normal)
    if ";" in normal and rules.drop_session_ids:
        normal = _without_path_session(normal)
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
    name, _, value = part.partition("=")
    if name in rules.ignore_params:
        return True
    lowered = name.lower()
    if rules.drop_session_ids:
        if lowered in _SESSION_NAMES or lowered.startswith(_ASP_SESSION):
            return True
        if lowered in _DOUBTFUL_NAMES:
            return not rules.keep_doubtful and _IS_TOKEN.fullmatch(value) is not None
    return rules.drop_tracking and (lowered.startswith(_TRACKING_PREFIX) or lowered in TRACKING_PARAMS)


def _without_path_session(normal: str) -> str:
    """Return a URL without `;jsessionid=...` in its path."""
    start = normal.find("/", 8)
    path, mark, query = normal[start:].partition("?")
    return f"{normal[:start]}{_PATH_SESSION.sub('', path)}{mark}{query}"


def has_session_id(text: bytes) -> bool:
    """Return whether a URL in a text has a session id."""
    return _TEXT_SESSION.search(text) is not None


def without_session_ids(text: bytes) -> bytes:
    """Return a text without the session ids of the URLs in it."""
    return _TEXT_SESSION.sub(b"", text)


def may_have_session_id(url: str) -> bool:
    """Return whether a URL has a parameter that may be a session id, or something else."""
    return _HAS_DOUBTFUL.search(url) is not None


def rules_for(links: Iterable[tuple[str, str | None]], rules: CanonicalRules) -> CanonicalRules:
    """Return the rules for URLs that were seen together, each as written with its base. An answer has one
    session id: where two URLs differ by `sid` alone, it is none.
    """
    if not rules.drop_session_ids or rules.keep_doubtful:
        return rules
    careful = rules._replace(keep_doubtful=True)
    kept: dict[str, str] = {}
    for href, base in links:
        if not may_have_session_id(href) or (url := normal_url(href, base)) is None:
            continue
        full = canonical_url(url, careful)
        if kept.setdefault(canonical_url(url, rules), full) != full:
            return careful
    return rules


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


@lru_cache(maxsize=1024)  # asked some ten times for each page, within a short time
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
