"""Preview a task: crawl a few pages with the code of a worker, and store nothing.

It differs from a crawl in three ways: the run ends after a few pages, the first page of each type comes
early, and the pages are recorded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from smartspider.core.frontier.verdict import Close, UrlState
from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.files import is_marked, pending_value, references_of, with_files
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import OWN_PAGE
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.requests.request import Request
from smartspider.core.requests.urls import normal_url
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import LIMIT
from smartspider.engine.answer_reader import AnswerReader
from smartspider.engine.cookies.given import GivenCookies
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.retry_or_close import Reading
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, build_redactor
from smartspider.interfaces.extractor import Extractor
from smartspider.services.plans import plan_columns
from smartspider.services.preview.preview import (
    FOLLOWED_SHOWN,
    REFUSED_SHOWN,
    PageError,
    Preview,
    PreviewedPage,
    RefusedLinks,
    build_preview,
    rejected_views,
)
from smartspider.store.runs.listing import PageFilter
from smartspider.store.runs.store import RunStore
from smartspider.telemetry.subscribers import shown_lines
from smartspider.wiring.opening import open_folder
from smartspider.wiring.worker import JobFactory, build_bus, run_worker

MAX_SITEMAPS = 20
"""Sitemaps that may be read in addition to `limit` pages."""
UNFETCHED: tuple[UrlState, ...] = ("skipped", "missing")
FIRST_PRIORITY = 1_000_000
"""Priority of the first request of each page type."""


async def preview_task(
    plan: Plan,
    settings: Settings,
    *,
    limit: int,
    is_server: bool = False,
    gated: Callable[[Installation], Installation] = lambda installation: installation,
    shown_level: str | None = None,
    given: GivenCookies | None = None,
) -> Preview:
    """Fetch and extract at most `limit` pages of a task; nothing is stored.

    A server opens only the private addresses of its settings, a command those of the task's entries as well.
    `gated` adds the gates of an installation, `given` are its cookies. Log lines of `shown_level` are
    printed to standard error.
    """
    plan = without_downloads(plan)
    lists = MAX_SITEMAPS if any(name.startswith(OWN_PAGE) for name in plan.pages) else 0
    plan = msgspec.structs.replace(
        plan,
        limits=msgspec.structs.replace(plan.limits, max_pages=limit + lists),
        concurrency=min(plan.concurrency, limit),
    )
    recorder = PreviewRecorder(limit)
    with (
        tempfile.TemporaryDirectory(prefix="smartspider-preview-") as path,
        open_folder(Path(path), settings=settings, shares_gates=not is_server) as folder,
    ):
        run = await folder.store.create_run(plan)
        await folder.store.set_state(run.id, "running")
        policy = folder.policy if is_server else folder.policy_for(plan)
        redactor = build_redactor(settings)
        bus = build_bus(*shown_lines("dry-run", shown_level, redactor))
        factory = JobFactory(
            gated(folder), bus, recorder.wrap, redactor, is_local=not is_server, given_cookies=given
        )
        worker = run_worker(factory, run, plan, policy)
        recorder.on_enough = worker.stop
        await worker.run()
        failures = await _failures(folder.store, run.id, limit)
        left_out = await folder.diagnostics.left_out(run.id)
    return build_preview(recorder.pages, failures, [column.name for column in plan_columns(plan)], left_out)


def without_downloads(plan: Plan) -> Plan:
    """Return the plan without its files: a preview only names them."""
    pages = {name: page for name, page in plan.pages.items() if page.file is None}
    return msgspec.structs.replace(plan, pages=pages)


async def _failures(store: RunStore, run_id: int, limit: int) -> list[PageError]:
    """Return pages that failed, are missing or may not be fetched."""
    found = [PageError(without_userinfo(one.url), one.reason) for one in await store.failures(run_id, limit)]
    for state in UNFETCHED:
        rows = (await store.pages(run_id, PageFilter(state), limit=limit)).rows
        reasons = [(without_userinfo(row.url), row.reason or f"status {row.status}") for row in rows]
        found += [PageError(url, reason) for url, reason in reasons if not reason.startswith(LIMIT)]
    return found


class PreviewRecorder:
    """Records the pages of a preview, and calls `on_enough` after the last one."""

    def __init__(self, limit: int) -> None:
        self.pages: list[PreviewedPage] = []
        self.on_enough: Callable[[], None] = lambda: None
        self._left = limit
        self._types: set[str] = set()

    def record(self, page: PreviewedPage) -> None:
        """Record a page. Sitemaps do not count towards the limit; pages after it are dropped."""
        if self._left > 0:
            self.pages.append(page)
        self._left -= not page.page.startswith(OWN_PAGE)
        if self._left == 0:
            self.on_enough()

    def wrap(self, extractor: Extractor) -> RecordingExtractor:
        """Return the extractor, recorded."""
        return RecordingExtractor(extractor, self)

    def is_new(self, page: str) -> bool:
        """True for the first request of a page type."""
        if page in self._types:
            return False
        self._types.add(page)
        return True


class RecordingExtractor:
    """Remembers the last extraction: extracting a page twice would count its steps twice."""

    def __init__(self, extractor: Extractor, recorder: PreviewRecorder) -> None:
        self._extractor = extractor
        self._recorder = recorder
        self.last: Extraction | None = None

    def engine_of(self, page: str) -> str:
        """See `Extractor`."""
        return self._extractor.engine_of(page)

    def extract(self, page: Page, request: Request) -> Extraction:
        """See `Extractor`."""
        self.last = None
        self.last = self._extractor.extract(page, request)
        return self.last

    def record_reader(self, reader: AnswerReader, links: LinkFilter) -> RecordingReader:
        """Return the reader that uses this extractor, recorded."""
        return RecordingReader(reader, self, links, self._recorder)


class RecordingReader:
    """A page reader that records what it read."""

    def __init__(
        self,
        reader: AnswerReader,
        extractor: RecordingExtractor,
        links: LinkFilter,
        recorder: PreviewRecorder,
    ) -> None:
        self._reader = reader
        self._extractor = extractor
        self._links = links
        self._recorder = recorder

    def read(self, page: Page, request: Request) -> Reading:
        """Read a page, and raise the priority of the first child of each page type."""
        self._recorder.is_new(request.page)
        reading = self._reader.read(page, request)
        if reading.close is None:
            return reading
        if 200 <= page.status < 300:
            self._recorder.record(self._page(page, request, reading.close))
        children = [
            msgspec.structs.replace(child, priority=FIRST_PRIORITY)
            if self._recorder.is_new(child.page)
            else child
            for child in reading.close.children
        ]
        return msgspec.structs.replace(
            reading, close=msgspec.structs.replace(reading.close, children=children)
        )

    def _page(self, page: Page, request: Request, close: Close) -> PreviewedPage:
        extraction = self._extractor.last or Extraction([], [], page.url)
        refused: dict[str, RefusedLinks] = {}
        next_pages: list[str] = []
        followed: list[str] = []
        for link in extraction.links:
            refusal = self._links.refusal_of(link, request, extraction)
            if refusal is not None:
                _refuse(refused, refusal.detail, link)
            elif link.is_pagination:
                next_pages.append(normal_url(link.href, extraction.base) or link.href)
            else:
                followed.append(link.href)
        return PreviewedPage(
            url=without_userinfo(page.url),
            status=page.status,
            page=request.page,
            engine=self._extractor.engine_of(request.page),
            items=[with_files(item, pending_value, is_marked) for item in close.items],
            files=[reference["url"] for reference in references_of(close.items)],
            rejected=rejected_views(close.rejected),
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
