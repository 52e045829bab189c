"""A look at a task before it is crawled: a few pages by the worker's own code, and nothing kept.

Three things differ from a crawl: the run ends after a few pages, the first page of each type comes early, and
somebody watches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from smartspider.core.frontier.verdict import Close, UrlState
from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import OWN_PAGE
from smartspider.core.redaction import without_userinfo
from smartspider.core.requests.request import Request
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import LIMIT
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.verdicts import Reading
from smartspider.installation.addresses import address_policy, server_policy
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings
from smartspider.interfaces.extractor import Extractor
from smartspider.services.preview.preview import (
    FOLLOWED_SHOWN,
    REFUSED_SHOWN,
    PageError,
    Preview,
    PreviewedPage,
    RefusedLinks,
    preview_of,
    told_rejects,
)
from smartspider.services.results.columns import columns_of
from smartspider.store.runs.store import RunStore
from smartspider.wiring.folder import open_folder
from smartspider.wiring.worker import JobFactory, build_bus, run_worker

MAX_SITEMAPS = 20
"""Sitemaps that may be read on the way to the pages they list."""
UNFETCHED: tuple[UrlState, ...] = ("skipped", "missing")
FIRST_PRIORITY = 1_000_000
"""The priority that brings a page type before one's eyes early."""


async def preview_task(
    plan: Plan,
    settings: Settings,
    *,
    limit: int,
    is_server: bool = False,
    gated: Callable[[Installation], Installation] = lambda installation: installation,
) -> Preview:
    """Fetch and read at most `limit` pages of a task; nothing is kept.

    A server opens only the private addresses of its settings; a command those of the task's entries as well.
    `gated` puts the gates of others before those of the look.
    """
    lists = MAX_SITEMAPS if any(name.startswith(OWN_PAGE) for name in plan.pages) else 0
    plan = msgspec.structs.replace(
        plan,
        limits=msgspec.structs.replace(plan.limits, max_pages=limit + lists),
        concurrency=min(plan.concurrency, limit),
    )
    watch = PreviewRecorder(limit)
    with (
        tempfile.TemporaryDirectory(prefix="smartspider-preview-") as place,
        open_folder(Path(place)) as folder,
    ):
        run = await folder.store.create_run(plan)
        await folder.store.set_state(run.id, "running")
        policy = server_policy(settings) if is_server else address_policy(plan, settings)
        worker = run_worker(JobFactory(gated(folder), settings, build_bus(), watch.over), run, plan, policy)
        watch.on_enough = worker.stop
        await worker.run()
        failures = await _failures(folder.store, run.id, limit)
    return preview_of(watch.pages, failures, [column.name for column in columns_of(plan)])


async def _failures(store: RunStore, run_id: int, limit: int) -> list[PageError]:
    """Pages that could not be had: that failed, are not there, or may not be fetched."""
    found = [PageError(without_userinfo(one.url), one.reason) for one in await store.failures(run_id, limit)]
    for state in UNFETCHED:
        rows = await store.pages(run_id, state=state, limit=limit)
        said = [(without_userinfo(row.url), row.reason or f"answers {row.status}") for row in rows]
        found += [PageError(url, reason) for url, reason in said if not reason.startswith(LIMIT)]
    return found


class PreviewRecorder:
    """Looks over a reader's shoulder."""

    def __init__(self, limit: int) -> None:
        self.pages: list[PreviewedPage] = []
        self.on_enough: Callable[[], None] = lambda: None
        self._left = limit
        self._types: set[str] = set()

    def note(self, seen: PreviewedPage) -> None:
        """Another page; sitemaps are shown but do not count, and what comes after enough of them is not."""
        if self._left > 0:
            self.pages.append(seen)
        self._left -= not seen.page.startswith(OWN_PAGE)
        if self._left == 0:
            self.on_enough()

    def over(self, extractor: Extractor) -> RecordingExtractor:
        """The extractor, watched."""
        return RecordingExtractor(extractor, self)

    def is_new(self, page: str) -> bool:
        """Whether this is the first request for a page type that anybody saw."""
        if page in self._types:
            return False
        self._types.add(page)
        return True


class RecordingExtractor:
    """An extractor that remembers the page it read last: reading it twice would count its steps twice."""

    def __init__(self, extractor: Extractor, watch: PreviewRecorder) -> None:
        self._extractor = extractor
        self._watch = watch
        self.last: Extraction | None = None

    def engine_of(self, page: str) -> str:
        """As the extractor says."""
        return self._extractor.engine_of(page)

    def extract(self, page: Page, request: Request) -> Extraction:
        """As the extractor does."""
        self.last = None
        self.last = self._extractor.extract(page, request)
        return self.last

    def reads(self, reader: AnswerReader, links: LinkFilter) -> RecordingReader:
        """The reader that uses this extractor, watched as well."""
        return RecordingReader(reader, self, links, self._watch)


class RecordingReader:
    """A page reader that tells what it read."""

    def __init__(
        self, reader: AnswerReader, extractor: RecordingExtractor, links: LinkFilter, watch: PreviewRecorder
    ) -> None:
        self._reader = reader
        self._extractor = extractor
        self._links = links
        self._watch = watch

    def read(self, page: Page, request: Request) -> Reading:
        """As the reader does, with the first child of each page type put first."""
        self._watch.is_new(request.page)
        reading = self._reader.read(page, request)
        if reading.close is None:
            return reading
        if 200 <= page.status < 300:
            self._watch.note(self._seen(page, request, reading.close))
        children = [
            msgspec.structs.replace(child, priority=FIRST_PRIORITY)
            if self._watch.is_new(child.page)
            else child
            for child in reading.close.children
        ]
        return msgspec.structs.replace(
            reading, close=msgspec.structs.replace(reading.close, children=children)
        )

    def _seen(self, page: Page, request: Request, close: Close) -> PreviewedPage:
        extraction = self._extractor.last or Extraction([], [], page.url)
        refused: dict[str, RefusedLinks] = {}
        next_pages: list[str] = []
        followed: list[str] = []
        for link in extraction.links:
            reason = self._links.refusal_of(link, request, extraction.base)
            if reason is not None:
                _refuse(refused, reason, link)
            elif link.is_pagination:
                next_pages.append(normal_url(link.href, extraction.base) or link.href)
            else:
                followed.append(link.href)
        return PreviewedPage(
            url=without_userinfo(page.url),
            status=page.status,
            page=request.page,
            engine=self._extractor.engine_of(request.page),
            items=close.items,
            rejected=told_rejects(close.rejected),
            next_pages=next_pages,
            followed=followed[:FOLLOWED_SHOWN],
            followed_count=len(followed),
            refused=refused,
            counts=close.counts,
        )


def _refuse(refused: dict[str, RefusedLinks], reason: str, link: Link) -> None:
    group = refused.setdefault(reason, RefusedLinks(0, []))
    group.count += 1
    if len(group.examples) < REFUSED_SHOWN:
        group.examples.append(link.href)
