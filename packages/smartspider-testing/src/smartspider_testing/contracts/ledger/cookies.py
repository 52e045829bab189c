"""Ledger 20 and run store 12: the cookies of a run are stored with the pages that brought them."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.cookies.jar import Cookie
from smartspider.core.cookies.set_cookie import FOREVER
from smartspider.core.frontier.verdict import Settlement
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.cookies import KEPT_VERSIONS, PURGE_EVERY
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    failed,
    settle,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.backend import Backend, BackendContract


def cookie(name: bytes, value: bytes = b"1", at: float = 1.0, expires_at: float = FOREVER) -> Cookie:
    """Return a cookie of the host."""
    return Cookie(HOST, "/\udce4", name, value, 7, at, is_host_only=True, expires_at=expires_at)


def bringing(settlement: Settlement, *cookies: Cookie) -> Settlement:
    """Return a settlement with cookies that changed before."""
    return msgspec.structs.replace(settlement, cookies=cookies)


async def stored(backend: Backend, run: Run, after: int = 0) -> tuple[int, list[Cookie]]:
    """Return the version of the cookies of a run, and those stored after another one."""
    found = await backend.store.cookies(run.id, after=after)
    return found.version, sorted(found.cookies, key=lambda one: one.name)


class CookieContract(BackendContract):
    """Cookies belong to a run, and are committed with the settle that brings them."""

    async def test_cookies_are_stored_whatever_the_verdict(self, backend: Backend) -> None:
        """Ledger 20: byte for byte, with pages, failures and retries; a settle is one version."""
        run = await begin(backend, "a", "b", "c", "d")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        assert [lease.cookie_version for lease in leases] == [0, 0, 0, 0]
        a, b, c, d = leases
        odd = cookie(b"odd", b"\xff \x80", expires_at=2e9)
        report = await settle(backend, bringing(done(a), odd), bringing(failed(b), cookie(b"retry")))
        assert report.cookies == {run.id: 1}
        report = await settle(backend, bringing(closed(c, "missing"), cookie(b"gone")))
        assert report.cookies == {run.id: 2}
        assert (await settle(backend, done(d))).cookies == {}
        assert await stored(backend, run) == (2, [cookie(b"gone"), odd, cookie(b"retry")])
        assert await stored(backend, run, after=1) == (2, [cookie(b"gone")])
        assert await stored(backend, run, after=2) == (2, [])

    async def test_a_lease_tells_the_version_of_the_cookies_of_its_run(self, backend: Backend) -> None:
        """Ledger 20: a page that was found behind a login is leased with the version that it needs."""
        run, other = await begin(backend, "login"), await begin(backend, "x", name="other")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, bringing(done(await take_one(backend, worker, run), url("in")), cookie(b"id")))
        assert (await take_one(backend, worker, run)).cookie_version == 1
        assert (await take_one(backend, worker, other)).cookie_version == 0
        assert await stored(backend, other) == (0, [])

    async def test_the_value_that_was_set_last_stays(self, backend: Backend) -> None:
        """Ledger 20: a worker that settles late does not bring an old session back."""
        run = await begin(backend, "a", "b", "c")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b, c = await take(backend, worker, run)
        await settle(backend, bringing(done(a), cookie(b"id", b"new", at=2.0)))
        await settle(backend, bringing(done(b), cookie(b"id", b"old", at=1.0), cookie(b"own")))
        assert await stored(backend, run) == (2, [cookie(b"id", b"new", at=2.0), cookie(b"own")])
        changed = cookie(b"id", b"newer", at=3.0), cookie(b"id", b"newest", at=4.0)
        await settle(backend, bringing(done(c), *changed))
        assert await stored(backend, run, after=2) == (3, [changed[1]])

    async def test_a_page_that_was_settled_before_brings_its_cookies(self, backend: Backend) -> None:
        """Ledger 20."""
        run = await begin(backend, "a")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await settle(backend, done(lease, url("b")))
        assert (await settle(backend, bringing(done(lease), cookie(b"id")))).late == 1
        assert await stored(backend, run) == (1, [cookie(b"id")])

    async def test_a_run_that_accepts_no_pages_takes_no_cookies(self, backend: Backend) -> None:
        """Ledger 10."""
        run = await begin(backend, "a")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "cancelled")
        assert (await settle(backend, bringing(done(lease), cookie(b"id")))).cookies == {}
        assert await stored(backend, run) == (0, [])

    async def test_a_deleted_cookie_is_a_mark_for_a_while(self, backend: Backend) -> None:
        """Run store 12."""
        run = await begin(backend, *(f"p{number}" for number in range(3)))
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b, c = await take(backend, worker, run)
        await settle(backend, bringing(done(a), cookie(b"id"), cookie(b"kept")))
        mark = cookie(b"id", b"", at=2.0, expires_at=0.0)
        await settle(backend, bringing(done(b), mark))
        assert await stored(backend, run) == (2, [mark, cookie(b"kept")])
        last = KEPT_VERSIONS + 2 * PURGE_EVERY
        for number in range(3, last + 1):
            await settle(backend, bringing(done(c), cookie(b"kept", at=float(number))))
        assert await stored(backend, run) == (last, [cookie(b"kept", at=float(last))])

    @pytest.mark.parametrize("state", ["completed", "cancelled"])
    async def test_cookies_are_deleted_with_their_run(self, backend: Backend, state: str) -> None:
        """Run store 5."""
        run = await begin(backend, "a", "b")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        a, b = await take(backend, worker, run)
        await settle(backend, bringing(done(a), cookie(b"id")))
        if state == "completed":
            await settle(backend, done(b))
            assert (await backend.store.finish(run.id)).state == state
            assert (await stored(backend, run))[0] == 1
        else:
            await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        assert await stored(backend, run) == (0, [])
        assert (await backend.store.cookies(run.id, after=-1)).cookies == []
