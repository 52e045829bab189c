"""The promises of `store/quotas.py`; tests name the promise they check."""

from __future__ import annotations

from smartspider.core.access import NewToken, Role
from smartspider.core.limits.quotas import QuotaKind
from smartspider.core.schedules import ScheduleRule
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.contracts.backend import Backend

KINDS: tuple[QuotaKind, ...] = ("tasks", "schedules", "notifications", "tokens", "runs")


async def counts(backend: Backend, owner: str, limit: int = 10) -> dict[QuotaKind, int]:
    """Return what a user owns."""
    return {kind: await backend.quotas.count(kind, owner, limit) for kind in KINDS}


async def add_token(backend: Backend, name: str, acts_for: str, role: Role = "viewer") -> int:
    """Add a token that is valid for 100 seconds."""
    token = NewToken(name, name.encode(), acts_for, role, expires_at=backend.clock.now() + 100.0)
    return (await backend.users.add_token(token, actor="root")).id


class QuotaContract:
    """Each user is counted alone."""

    async def test_what_a_user_owns_is_counted_by_kind(self, backend: Backend) -> None:
        """Quotas 1: others do not count, nor does what is over or deleted."""
        for owner in ("ann", "bob"):
            await backend.users.add_user(owner, "x", "operator", actor="root")
            run = await backend.store.create_run(plan_of(name=f"task of {owner}"), actor=owner)
            rule = ScheduleRule(every_s=60.0)
            await backend.schedules.add(run.task_id, rule, actor=owner, next_fire_at=None)
            await backend.notices.add_target(
                "webhook", "https://x.example", ("run.failed",), task_id=None, actor=owner
            )
            await add_token(backend, f"token of {owner}", owner)
        gone = await add_token(backend, "gone", "ann")
        assert await counts(backend, "ann") == {**dict.fromkeys(KINDS, 1), "tokens": 2}
        assert await counts(backend, "ann", limit=1) == dict.fromkeys(KINDS, 1)
        await backend.users.revoke_token(gone, actor="ann")
        assert await backend.quotas.count("tokens", "ann", 10) == 1
        await backend.clock.advance(101.0)
        await backend.store.set_state(1, "cancelled")
        assert (await counts(backend, "ann"))["runs"] == 0
        assert (await counts(backend, "ann"))["tokens"] == 0
        assert (await counts(backend, "bob"))["runs"] == 1
        await backend.tasks.delete(1, actor="ann")
        assert (await counts(backend, "ann"))["tasks"] == 0

    async def test_admins_and_the_crawler_itself_are_not_limited(self, backend: Backend) -> None:
        """Quotas 2: a token without a user has its own role."""
        await backend.users.add_user("ann", "x", "operator", actor="root")
        await backend.users.add_user("root", "x", "admin", actor="root")
        await add_token(backend, "reader", "root", "viewer")
        await add_token(backend, "ci", "token:ci", "operator")
        await add_token(backend, "boss", "token:boss", "admin")
        names = ("ann", "root", "token:ci", "token:boss", "system", "admin")
        limited = {name for name in names if await backend.quotas.is_limited(name)}
        assert limited == {"ann", "token:ci"}
