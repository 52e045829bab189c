"""Hostile pages, read with every source and most steps: each ends in a verdict within its time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from smartspider.core.errors import BadEncoding, FetchFailed, NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.markup_limits import markup_problem
from smartspider.core.pages.page import Page
from smartspider.engine.link_filter import LinkFilter
from smartspider.extract.parsing.link_markup import MAX_BASE
from smartspider.fetch.decompression import decompressor_for
from smartspider.services.plans import compile_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider_testing.hostile.pages import HostilePage, hostile_pages

MOST_CPU_S = 20.0
"""A safety net: the slowest takes about 4 s on a machine with little else to do."""
MAX_BYTES = 20_000_000

SOURCES = "article feed json_ld links list markdown microdata opengraph product state tables".split()
EXPLOSIVE = r"^https?://[^/]+/(\w+/?)+\.html$"
BY_SOURCE = {
    **{name: {"type": name} for name in SOURCES},
    "words": {"type": "regex", "expr": r"(\w+/?)+!", "many": True},
    "hrefs": {"type": "regex", "expr": r"href=([^>]+)>"},
    "text": "body",
}
BY_STEP = {
    "trimmed": {"expr": "p", "steps": ["whitespace", "trim", {"use": "replace", "pattern": r"(\s+)+$"}]},
    "number": {"expr": "p", "steps": ["number"]},
    "date": {"expr": "p", "steps": ["date"]},
    "normal": {"expr": "p", "steps": ["unicode", "lower", {"use": "split", "sep": "/"}, "join"]},
    "found": {"expr": "p", "steps": [{"use": "extract", "pattern": r"(\w+\s?)+!!"}]},
    "rich": {"expr": "p", "text": "raw", "steps": ["html_text", "markdown"]},
    "schema": {
        "expr": "p",
        "steps": [{"use": "schema", "json_schema": {"pattern": "^(a+)+b$"}, "on_error": "keep"}],
    },
}
BY_XPATH = {
    "all": {"type": "xpath", "expr": "//p"},
    "count": {"type": "xpath", "expr": "count(//p[.//text()])"},
    "matching": {"type": "xpath", "expr": "//div[re:test(@class, '(i+)+$')]"},
}
SELECTORS: dict[str, dict[str, Any]] = {
    "sources": {"fields": BY_SOURCE},
    "steps": {"items": "div.item", "fields": BY_STEP},
    "xpath": {"fields": BY_XPATH},
    "json": {
        "fields": {"a": {"type": "jmespath", "expr": "a"}, "n": {"type": "jmespath", "expr": "length(@)"}}
    },
}
PAGES = list(hostile_pages())
BY_KIND = {page.kind: page for page in PAGES if page.name.endswith("small")}


def read(hostile: HostilePage, selectors: dict[str, Any]) -> Extraction | FetchFailed:
    task = {
        "name": "hostile",
        "entry_urls": ["http://h.example/"],
        "selectors": selectors,
        "follow": [{"selector": "a", "allow": [EXPLOSIVE]}],
    }
    plan = compile_task(parse_task(task))
    compiled = compile_plan(plan)
    page = Page(
        "http://h.example/", 200, {"content-type": hostile.media_type}, unpack(hostile), hostile.charset, 0.0
    )
    try:
        extraction = compiled.extractor.extract(page, plan.entries[0])
        if compiled.pipeline is not None:
            extraction = compiled.pipeline.process(extraction, page)
        LinkFilter(plan, lambda _url: None).children(extraction, plan.entries[0])
    except FetchFailed as failed:
        return failed
    return extraction


def unpack(hostile: HostilePage) -> bytes:
    decompressor = decompressor_for(hostile.encoding, MAX_BYTES)
    body = hostile.make()
    if decompressor is None:
        return body
    try:
        return decompressor.feed(body) + decompressor.finish()
    except BadEncoding:
        return b""


def check(hostile: HostilePage, form: str) -> None:
    started = time.process_time()
    outcome = read(hostile, SELECTORS[form])
    assert time.process_time() - started < MOST_CPU_S
    if isinstance(outcome, FetchFailed):
        assert outcome.code in ("not_readable", "pattern_timeout")
        assert outcome.message


@pytest.mark.parametrize("form", SELECTORS)
@pytest.mark.parametrize("kind", BY_KIND)
def test_a_page_of_each_kind_ends_in_a_verdict(kind: str, form: str) -> None:
    check(BY_KIND[kind], form)  # type: ignore[index] # the keys are the kinds


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize("form", SELECTORS)
@pytest.mark.parametrize("hostile", PAGES, ids=lambda page: page.name)
def test_every_hostile_page_ends_in_a_verdict(hostile: HostilePage, form: str) -> None:
    check(hostile, form)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("many attributes large", "attributes"),
        ("attributes with brackets large", "attributes"),
        ("attributes of body large", "html and body tags"),
        ("options large", "options"),
        ("fonts after stray ends large", "too deeply"),
        ("bold after stray ends large", "too deeply"),
        ("blocks in italics large", "too deeply"),
        ("cells in svg large", "too deeply"),
        ("formatting opened again large", "too deeply"),
    ],
)
def test_markup_that_holds_a_parser_up_is_refused_before_it_is_parsed(name: str, why: str) -> None:
    body = next(page for page in PAGES if page.name == name).make()
    assert why in (markup_problem(body) or "")


@pytest.mark.parametrize(
    "body",
    [
        b"<table>" + b"<tr><td><font color=red>x</td><td><b>y</td></tr>" * 20_000 + b"</table>",
        b"<table>" + b"<tr><td><a href=1><span>x</span></a></td></tr>" * 20_000 + b"</table>",
        b"<script>" + b"if (a<b) { var c = d; }\n" * 40_000 + b"</script>",
        b"<div><span>never closed</div>" * 40_000,
        b"<svg><path d=1><path d=2 /></svg>" * 30_000,
        b"<ul>" + b"<li>x" * 100_000,
        b"<select>" + b"<option>x</option>" * 15_000 + b"</select>",
        b"<p title='" + b"word " * 50_000 + b"'>x</p>",
        b"<p>" + b"plain words and 1 < 2 " * 20_000 + b"</p>",
    ],
    ids=["old cells", "cells", "script", "spans", "svg", "list", "options", "long value", "prose"],
)
def test_large_pages_of_real_sites_are_read(body: bytes) -> None:
    assert markup_problem(body) is None


@pytest.mark.parametrize("form", ["links", "markdown", "opengraph"])
def test_a_long_base_is_not_repeated_for_every_link(form: str) -> None:
    links = b"<a href=c>x</a><meta property=og:image content=d>" * 100
    page = HostilePage("base", "links", lambda: b"<base href='/" + b"b" * MAX_BASE + b"/'>" + links)
    outcome = read(page, {"fields": {"found": {"type": form}}})
    assert isinstance(outcome, Extraction)
    assert outcome.base == "http://h.example/"
    assert len(repr(outcome.items)) < 100_000


def test_a_refused_page_says_what_is_wrong_with_it() -> None:
    def with_attributes(count: int) -> HostilePage:
        names = b" ".join(b"a%d" % number for number in range(count))
        return HostilePage("x", "attributes", lambda: b"<p " + names + b">")

    few, many = with_attributes(5000), with_attributes(20_000)
    assert isinstance(read(few, SELECTORS["xpath"]), Extraction)
    outcome = read(many, SELECTORS["xpath"])
    assert isinstance(outcome, NotReadable)
    assert outcome.message == "the page has an element with more than 10000 attributes"
