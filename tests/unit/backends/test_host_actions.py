"""An act on a host and its entry in the audit are one transaction."""

from __future__ import annotations

from typing import NoReturn

import pytest

from smartspider.core.errors import StoreUnavailable
from smartspider.store import audit
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import HOST, begin


def full(*_: object, **__: object) -> NoReturn:
    raise StoreUnavailable("the disk is full")


async def test_nothing_is_done_that_cannot_be_told(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await begin(backend)
    monkeypatch.setattr(audit, "write", full)
    with pytest.raises(StoreUnavailable):
        await backend.frontier.hold_host(HOST, 60.0, "lunch", actor="ann")
    with pytest.raises(StoreUnavailable):
        await backend.frontier.slow_host(HOST, 9.0, actor="ann")
    (host,) = await backend.store.hosts(run.id)
    assert (host.held_until, host.delay_s) == (0.0, 0.0)
    await backend.frontier.hold_host(HOST, 60.0, "by itself")
    with pytest.raises(StoreUnavailable):
        await backend.frontier.resume_host(HOST, actor="ann")
    (host,) = await backend.store.hosts(run.id)
    assert host.hold_reason == "by itself"
