"""Work on what users sent, in processes with a time limit."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator

import pytest

from smartspider.core.errors import RequestInvalid, TaskInvalid
from smartspider.core.requests.scope import url_refusal
from smartspider.services.fair_limit import SlotLimits
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.document import read_document
from smartspider.taskfile.load import parse_task
from smartspider.wiring.offload.process_offload import OffloadLimits, ProcessOffload

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]


@pytest.fixture
async def offload() -> AsyncIterator[ProcessOffload]:
    pool = ProcessOffload(OffloadLimits(SlotLimits(1, waiting=8), time_limit_s=20.0))
    yield pool
    await pool.close()


async def test_a_process_answers_call_after_call(offload: ProcessOffload) -> None:
    first, second = await offload.run(os.getpid), await offload.run(os.getpid)
    assert first == second != os.getpid()


async def test_the_error_of_a_call_keeps_its_problems(offload: ProcessOffload) -> None:
    with pytest.raises(TaskInvalid) as caught:
        await offload.run(read_document, "a: [", "t.yaml")
    assert "line 1" in caught.value.problems[0].message
    assert await offload.run(read_document, "a: 1", "t.yaml") == {"a": 1}


async def test_code_that_cannot_be_interrupted_ends_at_the_time_limit() -> None:
    pool = ProcessOffload(OffloadLimits(SlotLimits(1, waiting=8), time_limit_s=0.5, grace_s=60.0))
    try:
        await pool.run(os.getpid)
        with pytest.raises(RequestInvalid, match=r"took more than 0\.5 s"):
            await pool.run(re.search, r"(a|a)*b", "a" * 60)  # checks for signals, but no handler runs
        with pytest.raises(RequestInvalid, match=r"took more than 0\.5 s"):
            await pool.run(time.sleep, 1000)
        assert await pool.run(os.getpid) != os.getpid()
    finally:
        await pool.close()


async def test_the_loop_goes_on_meanwhile(offload: ProcessOffload) -> None:
    await offload.run(os.getpid)
    work = asyncio.create_task(offload.run(sum, [1, 2]))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await work, turns > 1) == (3, True)


async def test_a_cancelled_call_leaves_no_process(offload: ProcessOffload) -> None:
    pid = await offload.run(os.getpid)
    call = asyncio.create_task(offload.run(time.sleep, 1000))
    await asyncio.sleep(0)  # the call is sent
    assert offload.slots.in_use
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert await offload.run(os.getpid) != pid


async def test_plans_and_refusals_travel(offload: ProcessOffload) -> None:
    task = {"name": "t", "entry_urls": ["http://h.example/"], "scope": {"deny": [r"(\w+/?)+[.]pdf$"]}}
    plan = await offload.run(compile_task, parse_task(task))
    url = "http://h.example/" + "a" * 2000
    assert plan == compile_task(parse_task(task))
    assert await offload.run(url_refusal, plan.scope, plan.traps, url, url) is None
    assert await offload.run(url_refusal, plan.scope, plan.traps, f"{url}.pdf", f"{url}.pdf") is not None
