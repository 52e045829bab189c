"""Actions that the suites about revisits share."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement, Validators
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.recrawl import PageVersion, RecrawlPolicy
from smartspider.core.requests.request import Request, content_fingerprint
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import plan_of, settle, take, take_one
from smartspider_testing.contracts.backend import Backend

DAY = 86_400.0
V1, V2 = PageVersion('"one"'), PageVersion('"two"', "Sat, 14 Nov 2026 08:00:00 GMT")
ROWS: list[Item] = [{"b": 1, "a": [None, "ü"]}, {"b": 2, "a": {}}]


async def start(
    backend: Backend, recrawl: RecrawlPolicy, *entries: str | Request, **more: Any
) -> tuple[Run, int]:
    """Start a run with a recrawl policy, and a worker."""
    plan_keys = {name: more.pop(name) for name in ("items", "spec_hash") if name in more}
    plan = msgspec.structs.replace(plan_of(*entries, **more), recrawl=recrawl, **plan_keys)
    run = await backend.store.create_run(plan)
    return await backend.store.set_state(run.id, "running"), await backend.frontier.join(
        WorkerRegistration("w")
    )


def read(
    lease: Lease,
    *links: Request,
    rows: list[Item] | None = None,
    version: PageVersion = PageVersion(),
    **more: Any,
) -> Settlement:
    """Settle a page whose content is its rows."""
    found = [] if rows is None else rows
    validators = Validators(content_fingerprint(msgspec.json.encode(found)), version)
    close = Close(
        *("done", "", 200, found),
        children=list(links),
        links=list(links),
        validators=validators,
        **more,
    )
    return Settlement(lease, close)


def unchanged(lease: Lease) -> Settlement:
    """Settle a 304."""
    return Settlement(lease, Close("done", "not modified", 304, is_unchanged=True))


async def finish(backend: Backend, run: Run) -> Run:
    """Complete a run."""
    run = await backend.store.finish(run.id)
    assert run.state == "completed"
    return run


async def versions(backend: Backend, worker: int, run: Run) -> dict[str, PageVersion | None]:
    """Lease everything. Return the version that each request is sent with, by path."""
    leases = await take(backend, worker, run)
    return {lease.request.url.rpartition("/")[2]: lease.request.extras.version for lease in leases}


async def first_run(backend: Backend, recrawl: RecrawlPolicy, *links: Request, **more: Any) -> Run:
    """Complete a run whose entry links to pages with a row each."""
    run, worker = await start(backend, recrawl, "e", **more)
    await settle(backend, read(await take_one(backend, worker, run), *links))
    for lease in await take(backend, worker, run):
        name = lease.request.url.rpartition("/")[2]
        await settle(backend, read(lease, rows=[{"name": name}], version=V1))
    return await finish(backend, run)


def at_depth(request: Request, depth: int) -> Request:
    """Return the request at another depth."""
    return msgspec.structs.replace(request, depth=depth)
