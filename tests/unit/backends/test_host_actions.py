"""An act on a host and its entry in the audit are one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import HOST, begin
from smartspider_testing.crashes import SimulatedCrash, crash_at


@contextmanager
def crashing() -> Iterator[None]:
    """The process dies while it writes the audit."""
    crash_at("audit.added")
    with pytest.raises(SimulatedCrash):
        yield


async def test_nothing_is_done_that_cannot_be_told(backend: SqliteBackend) -> None:
    run = await begin(backend)
    with crashing():
        await backend.frontier.hold_host(HOST, 60.0, "lunch", actor="ann")
    with crashing():
        await backend.frontier.slow_host(HOST, 9.0, actor="ann")
    (host,) = await backend.store.hosts(run.id)
    assert (host.held_until, host.delay_s) == (0.0, 0.0)
    await backend.frontier.hold_host(HOST, 60.0, "by itself")
    with crashing():
        await backend.frontier.resume_host(HOST, actor="ann")
    (host,) = await backend.store.hosts(run.id)
    assert host.hold_reason == "by itself"
