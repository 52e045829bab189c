"""Find the pagination of a JSON response: a link, a cursor, or a number in the query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from smartspider.suggest.json_lists import quote_key

_NEXT = re.compile(r"next(?:_?(?:page|url|link|href|page_?url))?", re.IGNORECASE)
_CURSOR = re.compile(
    r"(?:next|end)_?(?:cursor|page_?token|token)|cursor_?next|after|continuation(?:_?token)?", re.IGNORECASE
)
_PAGE = ("page", "p", "pageNo", "page_no", "pageNum", "pageNumber", "page_number", "pn", "pageIndex")
_OFFSET = ("offset", "start", "skip", "from")
_SIZE = ("limit", "size", "per_page", "perPage", "page_size", "pageSize", "count", "rows", "ps")
_MAX_LEVELS = 4


def api_pagination(value: Any, url: str) -> dict[str, Any] | None:
    """Return the pagination of a JSON response in task form; None if it is unknown."""
    for way, name, inner in _simple(value):
        if isinstance(inner, str) and _NEXT.fullmatch(name) and inner.startswith(("http", "/", "?")):
            return {"type": "next_link", "selector": way, "language": "jmespath"}
    for way, name, inner in _simple(value):
        if (
            isinstance(inner, (str, int))
            and not isinstance(inner, bool)
            and inner
            and (_CURSOR.fullmatch(name) or _NEXT.fullmatch(name))
        ):
            param = "after" if "after" in name.lower() or name.lower().startswith("end") else "cursor"
            if "token" in name.lower():
                param = "page_token"
            return {"type": "cursor", "expr": way, "param": param}
    return _by_query(dict(parse_qsl(urlsplit(url).query)))


def _by_query(query: dict[str, str]) -> dict[str, Any] | None:
    for name in _PAGE:
        if query.get(name, "").isdecimal():
            return {"type": "page_param", "param": name, "start": int(query[name]) + 1}
    size = next((query[name] for name in _SIZE if query.get(name, "").isdecimal()), None)
    if size is not None and int(size) > 0:
        for name in _OFFSET:
            if query.get(name, "").isdecimal():
                return {"type": "offset", "param": name, "size": int(size)}
    return None


def _simple(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield simple values outside of lists: their JMESPath, key and value."""
    level = [("", value)]
    for _ in range(_MAX_LEVELS):
        below = []
        for way, one in level:
            for key, inner in list(one.items())[:200] if isinstance(one, dict) else ():
                here = f"{way}.{quote_key(key)}" if way else quote_key(key)
                if isinstance(inner, dict):
                    below.append((here, inner))
                else:
                    yield here, key, inner
        level = below[:200]
