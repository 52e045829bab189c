"""Spellings that w3lib and Scrapy take for one request, and those they keep apart.

    python -m benchmarks.outside.same_requests

A pair of w3lib is a URL and its canonical form, in the assertions of its tests: both must have one
fingerprint. Left out are options that change what w3lib compares, and its fallback to UTF-8 for letters that
the charset of the page lacks, where browsers write character references. None is wrongly merged if all
canonical forms that differ have different fingerprints, and all requests of Scrapy's fingerprint tests that
must differ do.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.core.requests.query_encoding import encode_query
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.urls import normal_url
from smartspider.fetch.charset.labels import codec_for

W3LIB = "github:scrapy/w3lib@ed01dc04608336967356417f472a691b82bcfbe4"
SCRAPY = "github:scrapy/scrapy@11079cb1c85b9e75a39a7269943c69d1a975d485"
SHARE_ASKED = 48 / 51
_OTHER_RULES = frozenset({"keep_fragments", "keep_blank_values", "query_separator"})
_LEFT_OUT = frozenset({"test_canonicalize_url_unicode_query_string_wrong_encoding"})
_ABSENT = object()


class Pair(NamedTuple):
    """A URL, the charset of its page, and its canonical form."""

    url: str
    charset: str
    canonical: str


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked or if a pair is wrongly merged."""
    source = (open_source(W3LIB) / "tests/test_url.py").read_text()
    pairs = list(read_pairs(source))
    results = Results("same requests")
    for pair in pairs:
        same = fingerprint(pair.url, pair.charset) == fingerprint(pair.canonical)
        results.add(f"{pair.url} and {pair.canonical}", "one request", "one request" if same else "two")
    code = results.report(asked=SHARE_ASKED)
    left_out = len(list(read_pairs(source, frozenset()))) - len(pairs)
    print(f"  left out: {left_out} pairs in which w3lib falls back to UTF-8 and browsers do not")
    merged = Results("kept apart")
    for one, other in combinations(sorted({pair.canonical for pair in pairs}), 2):
        merged.add(f"{one} and {other}", "two", "one" if fingerprint(one) == fingerprint(other) else "two")
    for one, other in combinations(scrapy_requests(), 2):
        if one[1] != other[1]:
            merged.add(f"{one[0]} and {other[0]}", "two", "one" if _of(one[0]) == _of(other[0]) else "two")
    return max(code, merged.report(asked=1.0))


def fingerprint(url: str, charset: str = "utf-8") -> bytes | None:
    """Return our fingerprint of a link on a page; None if it is no URL."""
    normal = normal_url(encode_query(url, charset))
    return None if normal is None else make_request(normal).fingerprint


def read_pairs(source: str, left_out: frozenset[str] = _LEFT_OUT) -> Iterator[Pair]:
    """Yield the http(s) pairs of the assertions `canonicalize_url(url) == canonical`."""
    tests = _class(source, "TestCanonicalizeUrl")
    tests.body = [each for each in tests.body if getattr(each, "name", "") not in left_out]
    for node in ast.walk(tests):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name("canonicalize_url"), args=[given], keywords=keywords),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=str(canonical))],
            ):
                options = {each.arg: ast.literal_eval(each.value) for each in keywords}
                url = _constant(given)
                if isinstance(url, str) and url.startswith("http") and not _OTHER_RULES & options.keys():
                    charset = codec_for(options.get("encoding", "utf-8"))
                    yield Pair(url, charset or "utf-8", canonical)


def scrapy_requests() -> list[tuple[dict[str, Any], bytes]]:
    """Return the requests of Scrapy's table of known fingerprints, with the fingerprint."""
    source = (open_source(SCRAPY) / "tests/test_utils_request.py").read_text()
    table = next(
        node.value
        for node in ast.walk(_class(source, "TestFingerprint"))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "known_hashes"
    )
    assert isinstance(table, ast.Tuple)
    found = []
    for row in table.elts:
        assert isinstance(row, ast.Tuple)
        call, known, options = row.elts
        assert isinstance(call, ast.Call)
        if not ast.literal_eval(options):
            named = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            found.append(({"url": ast.literal_eval(call.args[0]), **named}, ast.literal_eval(known)))
    return found


def _of(request: dict[str, Any]) -> bytes:
    normal = normal_url(request["url"])
    assert normal is not None
    extras = Extras(request.get("method", "GET"), body=request.get("body"))
    return make_request(normal, extras=extras).fingerprint


def _class(source: str, name: str) -> ast.ClassDef:
    nodes = ast.walk(ast.parse(source))
    return next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)


def _constant(node: ast.expr) -> Any:
    """Return a text, also as the argument of `urlparse` or `parse_url`; bytes are UTF-8."""
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"urlparse", "parse_url"}
        and not node.keywords
    ):
        node = node.args[0]
    value = node.value if isinstance(node, ast.Constant) else _ABSENT
    return value.decode() if isinstance(value, bytes) else value


if __name__ == "__main__":
    sys.exit(main())
