"""Runs with rows, as a crawl would have left them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.extraction import RejectedItem, ValueChange
from smartspider.core.pages.files import FileOutcome, StoredFile
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.installation import Installation
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

TEA: list[dict[str, Any]] = [
    {"name": "Sencha", "price": 12.5, "tags": ["green", "Japan"], "seller": {"name": "Ann"}, "seen": None},
    {"name": "Assam", "price": 3, "tags": ["black"], "seller": {"name": "Bob"}, "seen": "2026-01-02"},
    {"name": '茶, "fine"\nand = more', "price": None, "tags": [], "seller": None, "seen": None},
    {"name": "Oolong", "price": 40, "tags": ["blue"], "seller": {"name": "Ann"}, "seen": None},
]


def task(name: str = "tea", **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(("name", "price", "tags", "seller", "seen"), "p")
    return {
        "name": name,
        "entry_urls": ["http://tea.example/list"],
        "selectors": {"items": "li", "fields": {**fields, "price": {"expr": "b", "steps": ["number"]}}},
        "politeness": {"delay_s": 0},
        **more,
    }


async def crawled(
    folder: Installation,
    rows: Sequence[dict[str, Any]] = TEA,
    *,
    rejected: Sequence[RejectedItem] = (),
    changes: Sequence[ValueChange] = (),
    file: StoredFile | None = None,
    ends: bool = True,
    **spec: Any,
) -> Run:
    """A run whose only page had these rows."""
    run = await folder.store.create_run(compile_task(parse_task(task(**spec))))
    await folder.store.set_state(run.id, "running")
    worker = await folder.frontier.join(WorkerRegistration("w"))
    (lease,) = (await folder.frontier.lease(worker, 1, [run.id])).leases
    verdict = Close("done", status=200, items=list(rows), rejected=list(rejected), changes=list(changes))
    if file is not None:
        verdict = msgspec.structs.replace(verdict, outcome=FileOutcome(file))
    await folder.ledger.settle([Settlement(lease, verdict)])
    await folder.frontier.leave(worker)
    return await folder.store.finish(run.id) if ends else await folder.store.get_run(run.id)
