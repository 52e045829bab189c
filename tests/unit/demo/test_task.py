from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast
from urllib.parse import urljoin

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.core.requests.urls import canonical_url, normal_url
from smartspider.demo.pages import FORBIDDEN_PATHS
from smartspider.demo.shop import demo_task, running_shop
from smartspider_testing.sites.demo_shop import (
    EXPECTED_ITEMS,
    EXPECTED_MISSING,
    EXPECTED_REDIRECTS,
    EXPECTED_REFUSED,
    EXPECTED_RETRIES,
    expected_pages,
    expected_rows,
)

Task = dict[str, Any]


class TinyCrawler:
    """Reads the demo task in the simplest way that works, so that task, shop and facts check each other."""

    def __init__(self, base_url: str, client: aiohttp.ClientSession) -> None:
        self.task = cast("Task", demo_task(base_url))
        self.types: dict[str, Task] = self.task["pages"] | {"default": self.task}
        self.base = base_url.rstrip("/")
        self.client = client
        self.done: dict[str, int] = {}
        self.refused: set[str] = set()
        self.redirects = self.retries = 0
        self.rows: list[dict[str, Any]] = []

    async def crawl(self) -> None:
        waiting = [(url, "default") for url in self.task["entry_urls"]]
        seen = {canonical_url(url) for url, _ in waiting}
        while waiting:
            batch, waiting = waiting[:16], waiting[16:]
            for links in await asyncio.gather(*(self._visit(url, kind) for url, kind in batch)):
                for link, kind in links:
                    if canonical_url(link) not in seen:
                        seen.add(canonical_url(link))
                        waiting.append((link, kind))

    async def _visit(self, url: str, kind: str) -> list[tuple[str, str]]:
        if url.removeprefix(self.base) in FORBIDDEN_PATHS:
            self.refused.add(url)
            return []
        async with self.client.get(url) as answer:
            landed, body = str(answer.url), await answer.read()
        if answer.status >= 500:
            self.retries += 1
            return await self._visit(url, kind)
        self.redirects += len(answer.history)
        path = canonical_url(landed).removeprefix(self.base)
        if path in self.done:
            return []
        self.done[path] = answer.status
        if answer.status != 200:
            return []
        tree = LexborHTMLParser(body.decode("gbk" if b'charset="gbk"' in body else "utf-8"))
        return self._read(tree, landed, kind)

    def _read(self, tree: LexborHTMLParser, url: str, kind: str) -> list[tuple[str, str]]:
        page = self.types[kind]
        assert tree.root is not None
        if "selectors" in page:
            fields = page["selectors"]["fields"]
            self.rows.append({name: _value(rule, tree.root) for name, rule in fields.items()})
        rules = [(rule["selector"], rule["to"]) for rule in page.get("follow", [])]
        if "pagination" in page:
            rules.append((page["pagination"]["selector"], kind))
        found = [
            (normal_url(urljoin(url, _attribute(node, "href"))), to)
            for css, to in rules
            for node in tree.css(css)
        ]
        return [(link, to) for link, to in found if link is not None]


def _attribute(node: LexborNode, name: str) -> str:
    value = node.attributes[name]
    assert value is not None
    return value


def _value(rule: Any, root: LexborNode) -> Any:
    if isinstance(rule, str):
        rule = {"type": "css", "expr": rule}
    if "type" not in rule:
        return {name: _value(each, root) for name, each in rule.items()}
    if rule["type"] != "css":
        return {"const": rule["expr"], "meta": 200}[rule["type"]]
    css, _, pseudo = rule["expr"].partition("::")
    attribute = rule.get("attr") or (pseudo[5:-1] if pseudo.startswith("attr(") else None)
    values = [
        _attribute(node, attribute) if attribute else " ".join(node.text().split()) for node in root.css(css)
    ]
    if "join" in rule:
        return rule["join"].join(values)
    return values if rule.get("many") else values[0]


@pytest.fixture
async def crawler() -> AsyncIterator[TinyCrawler]:
    async with running_shop() as url, aiohttp.ClientSession() as client:
        crawler = TinyCrawler(url, client)
        await crawler.crawl()
        yield crawler


async def test_the_task_finds_exactly_the_expected_rows_and_pages(crawler: TinyCrawler) -> None:
    assert sorted(crawler.rows, key=lambda row: str(row["sku"])) == expected_rows(crawler.base)
    assert len(crawler.rows) == EXPECTED_ITEMS
    assert {path for path, status in crawler.done.items() if status == 200} == expected_pages()
    assert sum(status == 404 for status in crawler.done.values()) == EXPECTED_MISSING
    assert len(crawler.refused) == EXPECTED_REFUSED
    assert (crawler.redirects, crawler.retries) == (EXPECTED_REDIRECTS, EXPECTED_RETRIES)


def test_the_task_is_plain_json_without_a_placeholder() -> None:
    for base in ("http://127.0.0.1:9", "http://127.0.0.1:9/"):
        task = demo_task(base)
        assert task["entry_urls"] == ["http://127.0.0.1:9/"]
        assert "{base_url}" not in json.dumps(task)
