"""Lists in the data of a page (JSON responses, scripts, JSON-LD, feeds), and their pagination."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source
from smartspider.suggest.json_lists import JsonList, choose_steps, json_lists, quote_key
from smartspider.suggest.suggestion import Draft
from smartspider.suggest.vocabulary import SITE_TYPES

MAX_LISTS = 3
_LEAST_SCORE = 2.0
_RENDERED = 2000
"""Pages with less visible text are rendered by scripts."""
_COMPARED = 20
_UNSEEN = 0.3


def json_page_lists(document: Document) -> list[Draft]:
    """Return drafts for the lists of a JSON response; raise `NotReadable` if it is not JSON."""
    return [
        _draft(one, {"type": "jmespath", "expr": one.expr}, f"{one.size} objects at {one.expr}")
        for one in json_lists(document.json)[:MAX_LISTS]
    ]


def script_lists(document: Document, shown: str) -> list[Draft]:
    """Return drafts for lists in the scripts of an HTML page; `shown` is its visible text.

    Data that the page does not show describe the site more often than its content.
    """
    drafts = []
    for one in json_lists(read_source("state", document))[:MAX_LISTS]:
        if one.score >= _LEAST_SCORE:
            rule = {"type": "state", "expr": one.expr}
            draft = _draft(one, rule, f"{one.size} objects in a script, at {one.expr}")
            drafts.append(draft if is_shown(one.rows, shown) else _hidden(draft))
    return drafts + _json_ld_lists(read_source("json_ld", document))


def is_shown(rows: list[dict[str, Any]], shown: str) -> bool:
    """Return True if the page shows a text of most objects, or shows next to nothing."""
    if len(shown) < _RENDERED:
        return True
    page = " ".join(shown.split()).casefold()
    seen = sum(any(text in page for text in _texts_of(row)) for row in rows[:_COMPARED])
    return 2 * seen >= len(rows[:_COMPARED])


def _texts_of(row: dict[str, Any]) -> Iterator[str]:
    for value in list(row.values())[:40]:
        if isinstance(value, str) and 4 <= len(value) < 300 and " " in value.strip():
            yield " ".join(value.split()).casefold()


def _hidden(draft: Draft) -> Draft:
    return msgspec.structs.replace(
        draft, score=draft.score * _UNSEEN, reasons=(*draft.reasons, "the page does not show them")
    )


def feed_list(document: Document) -> list[Draft]:
    """Return a draft for the entries of a feed."""
    try:
        feed = read_source("feed", document)
    except NotReadable:
        return []
    if not feed or not feed.get("entries"):
        return []
    lists = [one for one in json_lists({"entries": feed["entries"]}) if one.expr == "entries"]
    fields = {
        name: {"type": "jmespath", "expr": key}
        for name in feed["entries"][0]
        if any(entry.get(name) for entry in feed["entries"]) and (key := quote_key(name))
    }
    score = lists[0].score if lists else 1.0
    count = len(feed["entries"])
    return [
        Draft(
            "feed", {"type": "feed", "expr": "entries"}, fields, score * 2, (f"a feed with {count} entries",)
        )
    ]


def _json_ld_lists(things: list[dict[str, Any]]) -> list[Draft]:
    drafts = []
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for thing in things:
        kind = thing.get("@type")
        if isinstance(kind, str):
            by_type[kind].append(thing)
    for kind, some in by_type.items():
        chosen = f"[?{quote_key('@type')}=='{kind}']"
        if kind == "ItemList":
            elements = [one for thing in some if isinstance(one := thing.get("itemListElement"), list)]
            found = [one for one in json_lists([one for few in elements for one in few]) if one.expr == "@"]
            drafts += [
                _draft(
                    one,
                    {"type": "json_ld", "expr": f"{chosen}.itemListElement[]"},
                    f"JSON-LD list of {one.size}",
                )
                for one in found
            ]
        elif len(some) > 1 and kind not in SITE_TYPES and "'" not in kind:
            found = [one for one in json_lists(some) if one.expr == "@"]
            drafts += [
                _draft(one, {"type": "json_ld", "expr": chosen}, f"{one.size} JSON-LD objects of type {kind}")
                for one in found
            ]
    return drafts


def _draft(one: JsonList, items: dict[str, Any], reason: str) -> Draft:
    fields: dict[str, Any] = {}
    for name, expr in one.fields.items():
        rule: dict[str, Any] = {"type": "jmespath", "expr": expr}
        steps = choose_steps(_values(one.rows, expr))
        if steps:
            rule["steps"] = steps
        fields[name] = rule
    details = next((name for name in ("url", "link", "href", "permalink") if name in fields), None)
    return Draft("data", items, fields, one.score, (reason, f"{len(fields)} fields"), details)


def _values(rows: list[dict[str, Any]], expr: str) -> list[Any]:
    import jmespath

    search = jmespath.compile(expr).search
    found = (search(row) for row in rows)
    return [value for value in found if value is not None]


_NEXT = re.compile(r"next(?:_?(?:page|url|link|href|page_?url))?", re.IGNORECASE)
_CURSOR = re.compile(
    r"(?:next|end)_?(?:cursor|page_?token|token)|cursor_?next|after|continuation(?:_?token)?", re.IGNORECASE
)
_PAGE = ("page", "p", "pageNo", "page_no", "pageNum", "pageNumber", "page_number", "pn", "pageIndex")
_OFFSET = ("offset", "start", "skip", "from")
_SIZE = ("limit", "size", "per_page", "perPage", "page_size", "pageSize", "count", "rows", "ps")
_MAX_LEVELS = 4


def api_paginations(value: Any, url: str) -> list[dict[str, Any]]:
    """Return the paginations that may continue a JSON response, in task form."""
    by_answer, by_query = _by_answer(value), _by_query(dict(parse_qsl(urlsplit(url).query)))
    return [one for one in (by_answer, by_query) if one is not None]


def _by_answer(value: Any) -> dict[str, Any] | None:
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
    return None


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
