"""What `why` prints: the facts of a URL, then those of its host."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from smartspider.cli.main import main
from smartspider.core.frontier.verdict import Close, SentRequest, Settlement
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import settle, take_one

HOST = "a.example"


def test_the_requests_of_the_host_follow_those_of_the_url(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def crawl() -> None:
        backend = SqliteBackend(tmp_path, ManualClock())
        worker = await backend.frontier.join(WorkerRegistration("w"))
        task = {"name": "a", "entry_urls": [f"http://{HOST}/1"]}
        run = await backend.store.create_run(compile_task(parse_task(task)))
        await backend.store.set_state(run.id, "running")
        lease, now = await take_one(backend, worker, run), backend.clock.now()
        sends = (SentRequest(HOST, now, 0.5), SentRequest(HOST, now + 0.5, 0.5))
        await settle(backend, Settlement(lease, Close("done", status=200), sends=sends))
        await backend.close()

    asyncio.run(crawl())
    assert main(["why", f"http://{HOST}/1", "--data", str(tmp_path)]) == 0
    own, _, of_host = capsys.readouterr().out.partition(
        f"around that time, requests for all URLs of {HOST}:\n"
    )
    assert "closed" in own
    assert "sent" not in own
    assert [line.split()[0] for line in of_host.splitlines()] == ["sent"] * 2
