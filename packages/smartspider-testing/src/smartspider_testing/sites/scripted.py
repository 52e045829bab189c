"""A loopback site whose every answer a test decides, and which remembers every request.

As a process: `python -m smartspider_testing.sites.scripted SPEC.json` with the form that `site_from_spec` takes;
`GET /_log` there gives the requests so far.
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

from smartspider.demo.serving import serve_until_told
from smartspider_testing.sites.answers import Answer, json_page, page, reply, versioned
from smartspider_testing.sites.hostile import HOSTILE
from smartspider_testing.sites.http_server import ReceivedRequest, SiteExchange, listen_http

LOG_PATH = "/_log"


class ScriptableSite:
    """A site for one test.

    `on` scripts a path: its answers are given in turn and the last repeats. Paths that are not scripted
    answer 404. Used as `async with ScriptableSite() as site`.
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
        """The port all hosts of the site listen on."""
        return self._port

    def url(self, path: str = "/", host: str | None = None) -> str:
        """The address of a path, on the first host unless another is named."""
        return f"http://{host or self._hosts[0]}:{self._port}{path}"

    def on(self, path: str, *answers: Answer) -> Self:
        """Script a path (with its query, if it has one): answers in turn, then the last for ever."""
        if not answers:
            raise ValueError("a path needs at least one answer")
        self._routes[path] = list(answers)
        return self

    def under(self, prefix: str, answer: Answer) -> Self:
        """Answer every path that begins so and is not scripted by itself; the longest prefix wins."""
        self._prefixes[prefix] = answer
        return self

    def link(self, graph: dict[str, Iterable[str]]) -> Self:
        """Script plain pages that link to each other: path to paths."""
        for path, targets in graph.items():
            anchors = "".join(f'<li><a href="{target}">{target}</a></li>' for target in targets)
            self.on(path, page(f"<title>{path}</title><h1>{path}</h1><ul>{anchors}</ul>"))
        return self

    def requests(self, path: str | None = None, host: str | None = None) -> list[ReceivedRequest]:
        """What arrived so far, in order, for one path or host or both."""
        return [
            arrival
            for arrival in self.log
            if (path is None or arrival.path == path) and (host is None or arrival.host == host)
        ]

    def count(self, path: str) -> int:
        """How often a path was asked for."""
        return len(self.requests(path))

    def gaps(self, host: str | None = None) -> list[float]:
        """Seconds from each arrival to the next, for one host or for all together."""
        return gaps_of(self.requests(host=host))

    def peak_in_flight(self, host: str | None = None) -> int:
        """The most requests that were unanswered at one moment."""
        return peak_of(self.requests(host=host))

    async def until(self, requests: int, path: str | None = None) -> None:
        """Wait until so many requests have arrived."""
        await self._wait(lambda: len(self.requests(path)) >= requests)

    async def until_idle(self) -> None:
        """Wait until no request is unanswered."""
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
    """Seconds from each arrival to the next."""
    moments = sorted(arrival.arrived_at for arrival in arrivals)
    return [later - earlier for earlier, later in pairwise(moments)]


def peak_of(arrivals: Sequence[ReceivedRequest]) -> int:
    """The most of these requests that were unanswered at one moment."""
    changes = [(arrival.arrived_at, 1) for arrival in arrivals]
    changes += [(arrival.answered_at, -1) for arrival in arrivals if arrival.answered_at is not None]
    peak = now = 0
    for _, change in sorted(changes):
        now += change
        peak = max(peak, now)
    return peak


class AnswerSpec(msgspec.Struct, forbid_unknown_fields=True):
    """An answer written down: a plain one, a JSON one, or a hostile one by name with its options."""

    status: int = 200
    headers: dict[str, str] = {}
    body: str = ""
    data: Any = None
    """Sent as JSON when given."""
    delay_s: float = 0.0
    etag: str = ""
    last_modified: str = ""
    """With one of these, an answer to those who have this version already says only that."""
    hostile: str | None = None
    options: dict[str, Any] = {}

    def answer(self) -> Answer:
        """The answer itself."""
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
    """A site written down."""

    routes: dict[str, list[AnswerSpec]] = {}
    prefixes: dict[str, AnswerSpec] = {}
    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 0


def site_from_spec(spec: bytes) -> ScriptableSite:
    """The site that a JSON text describes."""
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
    """Serve a written site until stdin closes or a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m smartspider_testing.sites.scripted", description=__doc__)
    parser.add_argument("spec", type=Path)
    asyncio.run(serve_until_told(_served(parser.parse_args().spec.read_bytes())))


if __name__ == "__main__":
    main()
