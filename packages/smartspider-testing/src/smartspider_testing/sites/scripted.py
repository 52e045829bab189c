"""A local site whose answers a test scripts, and which records every request.

As a process: `python -m smartspider_testing.sites.scripted SPEC.json` with the format of `site_from_spec`;
`GET /_log` returns the requests so far.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import msgspec

from smartspider.demo.process import serve_until_stopped
from smartspider_testing.sites.answers import Answer, json_page, page, reply, versioned
from smartspider_testing.sites.hostile import HOSTILE
from smartspider_testing.sites.http_server import ReceivedRequest, SiteExchange, listen_http

LOG_PATH = "/_log"


class ScriptableSite:
    """A scripted site: `async with ScriptableSite() as site`.

    `on` scripts a path: its answers are sent in turn and the last one repeats. Other paths answer 404.
    """

    def __init__(self, hosts: Sequence[str] = ("127.0.0.1",), port: int = 0) -> None:
        self.log: list[ReceivedRequest] = []
        self._hosts = tuple(hosts)
        self._port = port
        self._routes: dict[str, list[Answer]] = {}
        self._prefixes: dict[str, Answer] = {}
        self._changed = asyncio.Event()
        self._unanswered = 0
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._port = await self._open.enter_async_context(listen_http(self._answer, self._hosts, self._port))
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._open.aclose()

    @property
    def port(self) -> int:
        """The port of all hosts of the site."""
        return self._port

    def url(self, path: str = "/", host: str | None = None) -> str:
        """Return the URL of a path, on the first host unless `host` is given."""
        return f"http://{host or self._hosts[0]}:{self._port}{path}"

    def on(self, path: str, *answers: Answer) -> Self:
        """Script a path with its query: send the answers in turn, then repeat the last one."""
        if not answers:
            raise ValueError("a path needs at least one answer")
        self._routes[path] = list(answers)
        return self

    def under(self, prefix: str, answer: Answer) -> Self:
        """Answer every path with this prefix that is not scripted itself; the longest prefix wins."""
        self._prefixes[prefix] = answer
        return self

    def link(self, graph: dict[str, Iterable[str]]) -> Self:
        """Script plain pages that link to each other: path to linked paths."""
        for path, targets in graph.items():
            anchors = "".join(f'<li><a href="{target}">{target}</a></li>' for target in targets)
            self.on(path, page(f"<title>{path}</title><h1>{path}</h1><ul>{anchors}</ul>"))
        return self

    def requests(self, path: str | None = None, host: str | None = None) -> list[ReceivedRequest]:
        """Return the requests so far in order, for a path, a host or both."""
        return [
            arrival
            for arrival in self.log
            if (path is None or arrival.path == path) and (host is None or arrival.host == host)
        ]

    def count(self, path: str) -> int:
        """Return the number of requests for a path."""
        return len(self.requests(path))

    def gaps(self, host: str | None = None) -> list[float]:
        """Return the seconds between consecutive requests, to one host or to all."""
        return gaps_of(self.requests(host=host))

    def peak_in_flight(self, host: str | None = None) -> int:
        """Return the largest number of requests in flight at one time."""
        return peak_of(self.requests(host=host))

    async def until(self, requests: int, path: str | None = None) -> None:
        """Wait until `requests` requests have arrived."""
        await self._wait(lambda: len(self.requests(path)) >= requests)

    async def until_idle(self) -> None:
        """Wait until all requests are answered."""
        await self._wait(lambda: self._unanswered == 0)

    async def _wait(self, is_true: Callable[[], bool]) -> None:
        while not is_true():
            self._changed.clear()
            await self._changed.wait()

    async def _answer(self, exchange: SiteExchange) -> None:
        if exchange.arrival.path == LOG_PATH:
            await exchange.reply(200, [("Content-Type", "application/json")], msgspec.json.encode(self.log))
            return
        self.log.append(exchange.arrival)
        self._unanswered += 1
        self._changed.set()
        try:
            await self._answer_for(exchange.arrival.path)(exchange)
        finally:
            self._unanswered -= 1
            self._changed.set()

    def _answer_for(self, path: str) -> Answer:
        answers = self._routes.get(path)
        if answers:
            return answers.pop(0) if len(answers) > 1 else answers[0]
        matching = [prefix for prefix in self._prefixes if path.startswith(prefix)]
        if matching:
            return self._prefixes[max(matching, key=len)]
        return reply(404, body="nothing here")


def gaps_of(arrivals: Sequence[ReceivedRequest]) -> list[float]:
    """Return the seconds between consecutive requests."""
    moments = sorted(arrival.arrived_at for arrival in arrivals)
    return [later - earlier for earlier, later in pairwise(moments)]


def peak_of(arrivals: Sequence[ReceivedRequest]) -> int:
    """Return the largest number of these requests in flight at one time."""
    changes = [(arrival.arrived_at, 1) for arrival in arrivals]
    changes += [(arrival.answered_at, -1) for arrival in arrivals if arrival.answered_at is not None]
    peak = now = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    return peak


class AnswerSpec(msgspec.Struct, forbid_unknown_fields=True):
    """The specification of an answer: plain, JSON, or hostile by name with options."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str = ""
    data: Any = None
    """Sent as JSON if it is set."""
    delay_s: float = 0.0
    etag: str = ""
    last_modified: str = ""
    """With `etag` or `last_modified`, a conditional request for the same version gets 304."""
    hostile: str | None = None
    options: dict[str, Any] = {}

    def answer(self) -> Answer:
        """Return the answer."""
        if self.hostile is not None:
            return HOSTILE[self.hostile](**self.options)
        if self.data is not None:
            return json_page(self.data, status=self.status, delay_s=self.delay_s)
        if self.etag or self.last_modified:
            return versioned(
                self.body, etag=self.etag, last_modified=self.last_modified, delay_s=self.delay_s
            )
        headers = {"Content-Type": "text/html; charset=utf-8"} | self.headers
        return reply(self.status, headers=headers, body=self.body, delay_s=self.delay_s)


class SiteSpec(msgspec.Struct, forbid_unknown_fields=True):
    """The specification of a site."""

    routes: dict[str, list[AnswerSpec]] = {}
    prefixes: dict[str, AnswerSpec] = {}
    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 0


def site_from_spec(spec: bytes) -> ScriptableSite:
    """Return the site that a JSON specification describes."""
    written = msgspec.json.decode(spec, type=SiteSpec)
    site = ScriptableSite(written.hosts, written.port)
    for path, answers in written.routes.items():
        site.on(path, *(each.answer() for each in answers))
    for prefix, each in written.prefixes.items():
        site.under(prefix, each.answer())
    return site


@asynccontextmanager
async def _served(spec: bytes) -> AsyncIterator[str]:
    async with site_from_spec(spec) as site:
        yield site.url()


def main() -> None:
    """Serve a specified site until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m smartspider_testing.sites.scripted", description=__doc__)
    parser.add_argument("spec", type=Path)
    asyncio.run(serve_until_stopped(_served(parser.parse_args().spec.read_bytes())))


if __name__ == "__main__":
    main()
