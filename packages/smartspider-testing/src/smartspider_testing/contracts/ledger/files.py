"""Files: items refer to them, their outcomes are stored with their settle, and rows are filled when read."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.files import (
    REFERENCE,
    FileOutcome,
    FilePlan,
    StoredFile,
    as_literal,
    new_reference,
)
from smartspider.core.requests.request import Request, make_request
from smartspider.core.runs.plan import RunLimits
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.results.rows import RowQuery
from smartspider_testing.contracts.actions import HOST, begin, closed, done, items, settle, take, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

PLAN = FilePlan()
PICTURE = StoredFile("files/aa.png", "aa" * 32, 3, "image/png")


def file_at(path: str, host: str = HOST) -> Request:
    """Return the request for a file."""
    return make_request(f"http://{host}/{path}", page=PLAN.page)


def refers_to(request: Request, form: Any = "path") -> dict[str, Any]:
    """Return the stored reference to a file."""
    return {**new_reference(request.url, PLAN, form), REFERENCE: request.fingerprint.hex()}


def downloaded(lease: Lease, file: StoredFile = PICTURE) -> Settlement:
    """Settle a request for a file."""
    return Settlement(lease, Close("done", status=200, outcome=FileOutcome(file)))


class FileContract(BackendContract):
    """Rows have the files that were downloaded, whichever way their requests took."""

    async def test_a_row_has_its_file_once_it_is_stored(self, backend: Backend) -> None:
        """Until then it names the URL; the same request serves all rows."""
        run = await begin(backend, "page")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        file = file_at("a.png")
        rows = [{"n": 1, "f": refers_to(file, "object")}, {"n": 2, "f": {"in": [refers_to(file)]}}]
        await settle(backend, done(page, file, items=rows))
        pending = {"path": None, "url": file.url, "sha256": None, "bytes": None, "type": None}
        assert await items(backend, run) == [{"n": 1, "f": pending}, {"n": 2, "f": {"in": [None]}}]
        (lease,) = await take(backend, worker, run)
        assert lease.request.page == PLAN.page
        await settle(backend, downloaded(lease))
        stored = {
            "path": "files/aa.png",
            "url": file.url,
            "sha256": "aa" * 32,
            "bytes": 3,
            "type": "image/png",
        }
        wanted = [{"n": 1, "f": stored}, {"n": 2, "f": {"in": ["files/aa.png"]}}]
        assert await items(backend, run) == wanted
        found = await backend.results.rows(RowQuery(run.id))
        assert [msgspec.json.decode(row.data) for row in found.rows] == wanted
        by_value = await backend.results.rows(RowQuery(run.id, sort="n", is_descending=True))
        assert [msgspec.json.decode(row.data) for row in by_value.rows] == wanted[::-1]
        assert await backend.store.file_totals(run.id) == (1, 3)
        assert (await backend.store.get_run(run.id)).counters.files == 1
        (listed,) = await backend.results.files(run.id)
        assert (listed.url, listed.path, listed.bytes) == (file.url, "files/aa.png", 3)
        assert await backend.results.file(run.id, file.fingerprint) == listed
        assert await backend.results.files(run.id, after=file.fingerprint) == []
        assert await backend.results.file(run.id, page.request.fingerprint) is None

    async def test_a_failed_file_is_null(self, backend: Backend) -> None:
        """Its row keeps the reason."""
        run = await begin(backend, "page")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        gone, dead = file_at("gone.png"), file_at("dead.png")
        row = {"gone": refers_to(gone, "object"), "dead": refers_to(dead)}
        await settle(backend, done(page, gone, dead, items=[row]))
        for lease in await take(backend, worker, run):
            is_gone = lease.request.url == gone.url
            await settle(backend, closed(lease, "missing" if is_gone else "dead", "http 404"))
        assert await items(backend, run) == [{"gone": None, "dead": None}]
        ended = await backend.store.finish(run.id)
        assert (ended.state, ended.counters.files) == ("completed", 0)
        report = await backend.insight.left_out(run.id)
        assert (report.missing_files, report.missing_file_count) == ([gone.url], 1)

    async def test_redirected_files_are_found_whoever_came_first(self, backend: Backend) -> None:
        """Two URLs that lead to a third have its file, also through several redirects."""
        run = await begin(backend, "page")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        one, two, target = file_at("one"), file_at("two"), file_at("target", "other.example")
        row = {"one": refers_to(one), "two": refers_to(two)}
        await settle(backend, done(page, one, two, items=[row]))
        outcome = FileOutcome(target=target.fingerprint)
        for lease in await take(backend, worker, run):
            await settle(
                backend, Settlement(lease, Close("redirect", status=302, children=[target], outcome=outcome))
            )
        (lease,) = await take(backend, worker, run)
        landing = file_at("landing", "other.example")
        verdict = Close("redirect", status=200, landed=landing, outcome=FileOutcome(PICTURE))
        await settle(backend, Settlement(lease, verdict))
        assert await items(backend, run) == [{"one": "files/aa.png", "two": "files/aa.png"}]

    async def test_what_only_looks_like_a_reference_stays(self, backend: Backend) -> None:
        """A page may contain anything."""
        run = await begin(backend, "page")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        odd = [
            {"f": refers_to(file_at("never"))},
            {"f": {REFERENCE: "no hex", "url": "x", "form": "path"}},
            {"f": {REFERENCE: "00", "more": 1}},
            {"f": {REFERENCE: page.request.fingerprint.hex(), "url": "x", "form": "path"}},
        ]
        await settle(backend, done(page, items=odd))
        assert await items(backend, run) == odd

    async def test_an_object_of_a_page_is_not_replaced_by_a_file(self, backend: Backend) -> None:
        """Even if it names a stored one; the worker marks such objects."""
        run = await begin(backend, "page")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (page,) = await take(backend, worker, run)
        file = file_at("a.png")
        forged = [dict(refers_to(file)), as_literal({"b": 1})]
        rows = [{"f": refers_to(file), "g": [as_literal(one) for one in forged]}]
        await settle(backend, done(page, file, items=rows))
        (lease,) = await take(backend, worker, run)
        await settle(backend, downloaded(lease))
        assert await items(backend, run) == [{"f": "files/aa.png", "g": forged}]

    async def test_files_are_no_pages_and_outlive_the_limits_of_pages(self, backend: Backend) -> None:
        """The files of stored items are downloaded; the other requests close as skipped."""
        run = await begin(backend, *urls(6), limits=RunLimits(max_pages=2))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run, want=2)
        files = [file_at("a"), file_at("b")]
        for lease, file in zip(leases, files, strict=True):
            await settle(backend, done(lease, file, items=[{"f": refers_to(file)}]))
        run = await backend.store.finish(run.id)
        assert (run.state, run.counters.skipped) == ("running", 4)
        open_files = await take(backend, worker, run)
        assert sorted(lease.request.url for lease in open_files) == sorted(file.url for file in files)
        for lease in open_files:
            await settle(backend, downloaded(lease))
        run = await backend.store.finish(run.id)
        assert (run.state, run.reason) == ("completed", "limit: max_pages 2 reached")
        assert (run.counters.done, run.counters.skipped) == (4, 4)
        assert await items(backend, run) == [{"f": "files/aa.png"}] * 2
        assert await backend.store.fsck() == []

    async def test_a_deleted_run_forgets_its_files(self, backend: Backend) -> None:
        """Their outcomes go with the run."""
        run = await begin(backend, file_at("a"))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        (lease,) = await take(backend, worker, run)
        await settle(backend, downloaded(lease))
        await backend.store.finish(run.id)
        await backend.store.delete_run(run.id)
        assert await backend.store.file_totals(run.id) == (0, 0)
