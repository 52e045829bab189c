"""The promises of `interfaces/notice_store.py`, tested by their numbers."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import NotAllowed, NotFound, TermOver
from smartspider.core.notices import NoticeTarget
from smartspider.interfaces.notice_store import MOST_TARGETS
from smartspider_testing.contracts.audit import told
from smartspider_testing.contracts.ground import Ground, OnGround
from smartspider_testing.contracts.schedules import kept_task, leading

HOOK = "https://a.example/hook?key=secret"


async def hook(ground: Ground, task_id: int | None = None) -> NoticeTarget:
    """A webhook that is told of failed runs."""
    return await ground.notices.add_target("webhook", HOOK, ["run.failed"], task_id=task_id, actor="ann")


class NoticeStoreContract(OnGround):
    """Nothing is told twice, and nothing is forgotten."""

    async def test_a_notice_is_put_in_once(self, ground: Ground) -> None:
        """Notices 1: also by several processes that look at the same events."""
        target, epoch = await hook(ground), await leading(ground)
        other = await ground.another()
        notices = [(target.id, event, "run.failed", 7, b'{"n":1}') for event in (3, 4)]
        new = await asyncio.gather(
            *(each.notices.put(notices, up_to=5, epoch=epoch) for each in (ground, other, ground))  # type: ignore[arg-type]  # names are literals
        )
        assert sorted(new) == [0, 0, 2]
        assert await ground.notices.looked_at() == 5
        assert len(await ground.notices.due()) == 2

    async def test_events_are_never_looked_at_again(self, ground: Ground) -> None:
        """Notices 1."""
        epoch = await leading(ground)
        assert await ground.notices.looked_at() == 0
        for up_to in (5, 9, 7):
            await ground.notices.put([], up_to=up_to, epoch=epoch)
        await ground.reopen()
        assert await ground.notices.looked_at() == 9

    async def test_who_does_not_lead_writes_nothing(self, ground: Ground) -> None:
        """Notices 2."""
        target, epoch = await hook(ground), await leading(ground)
        await ground.notices.put([(target.id, 1, "run.failed", 7, b"{}")], up_to=1, epoch=epoch)
        (notice,) = await ground.notices.due()
        await ground.leadership.resign("keeper")
        await ground.leadership.take("another", 10.0)
        for act in (
            ground.notices.put([(target.id, 2, "run.failed", 7, b"{}")], up_to=2, epoch=epoch),
            ground.notices.delivered(notice.id, epoch=epoch),
            ground.notices.failed(notice.id, "no", retry_at=None, epoch=epoch),
        ):
            with pytest.raises(TermOver):
                await act
        assert await ground.notices.due() == [notice]
        assert await ground.notices.looked_at() == 1

    async def test_changes_to_targets_are_told_without_their_address(self, ground: Ground) -> None:
        """Notices 3: an address may hold a secret."""
        task_id, _ = await kept_task(ground)
        target = await hook(ground, task_id)
        assert target == await ground.notices.get_target(target.id)
        assert (target.address, target.events, target.task_id) == (HOOK, ("run.failed",), task_id)
        await ground.notices.delete_target(target.id, actor="bob")
        entries = [entry for entry in await told(ground) if entry[2] == f"notice:{target.id}"]
        assert [entry[:2] for entry in entries] == [("ann", "notice.created"), ("bob", "notice.deleted")]
        assert "secret" not in str(entries)

    async def test_a_deleted_target_gets_nothing_more(self, ground: Ground) -> None:
        """Notices 4."""
        target, epoch = await hook(ground), await leading(ground)
        await ground.notices.put([(target.id, 1, "run.failed", 7, b"{}")], up_to=1, epoch=epoch)
        await ground.notices.delete_target(target.id, actor="ann")
        await ground.notices.put([(target.id, 2, "run.failed", 7, b"{}")], up_to=2, epoch=epoch)
        assert await ground.notices.due() == []
        with pytest.raises(NotFound):
            await ground.notices.get_target(target.id)
        with pytest.raises(NotFound):
            await ground.notices.delete_target(target.id, actor="ann")

    async def test_a_deleted_task_takes_its_targets_with_it(self, ground: Ground) -> None:
        """Notices 4."""
        task_id, _ = await kept_task(ground)
        await hook(ground, task_id)
        everything = await hook(ground)
        await ground.tasks.delete(task_id, actor="ann")
        assert await ground.notices.find_targets() == [everything]
        with pytest.raises(NotFound):
            await hook(ground, task_id)

    async def test_a_notice_waits_until_it_is_delivered_or_given_up(self, ground: Ground) -> None:
        """Notices 1."""
        target, epoch = await hook(ground), await leading(ground)
        for event in (1, 2):
            await ground.notices.put([(target.id, event, "run.failed", 7, b"{}")], up_to=event, epoch=epoch)
        first, second = await ground.notices.due()
        assert [one.id for one in await ground.notices.due(limit=1)] == [first.id]
        await ground.notices.failed(first.id, "x" * 5000, retry_at=ground.clock.now() + 60, epoch=epoch)
        await ground.notices.delivered(second.id, epoch=epoch)
        assert await ground.notices.due() == []
        await ground.clock.advance(60.0)
        await ground.leadership.take("keeper", 1e6)
        (again,) = await ground.notices.due()
        assert (again.id, again.tries, again.ended_at) == (first.id, 1, None)
        assert len(again.error) < 1000
        await ground.notices.failed(first.id, "gone", retry_at=None, epoch=epoch)
        assert await ground.notices.due() == []
        newest = await ground.notices.find(target_id=target.id)
        assert [(one.id, one.tries, one.error, one.due_at) for one in newest] == [
            (second.id, 1, "", None),
            (first.id, 2, "gone", None),
        ]
        assert all(one.ended_at is not None for one in newest)

    async def test_lists_are_found_by_cursors(self, ground: Ground) -> None:
        """Notices 5."""
        one, two = await hook(ground), await hook(ground)
        epoch = await leading(ground)
        for event in range(1, 5):
            notices = [(target.id, event, "run.failed", 7, b"{}") for target in (one, two)]
            await ground.notices.put(notices, up_to=event, epoch=epoch)  # type: ignore[arg-type]  # names are literals
        newest = await ground.notices.find(limit=3)
        rest = await ground.notices.find(before=newest[-1].id)
        assert [notice.id for notice in (*newest, *rest)] == [8, 7, 6, 5, 4, 3, 2, 1]
        own = await ground.notices.find(target_id=two.id, limit=2)
        assert {notice.target_id for notice in own} == {two.id}
        assert len(await ground.notices.find(target_id=two.id, before=own[-1].id)) == 2
        assert await ground.notices.find_targets(after=one.id, limit=1) == [two]

    async def test_there_are_not_too_many_targets(self, ground: Ground) -> None:
        """Notices 5."""
        for _ in range(MOST_TARGETS):
            await hook(ground)
        with pytest.raises(NotAllowed):
            await hook(ground)

    async def test_what_ended_long_ago_is_forgotten(self, ground: Ground) -> None:
        """Notices 1: what still waits is not."""
        target, epoch = await hook(ground), await leading(ground)
        for event in (1, 2, 3):
            await ground.notices.put([(target.id, event, "run.failed", 7, b"{}")], up_to=event, epoch=epoch)
        await ground.notices.delivered(1, epoch=epoch)
        await ground.clock.advance(100.0)
        await ground.leadership.take("keeper", 1e6)
        await ground.notices.delivered(3, epoch=epoch)
        assert await ground.notices.sweep(ground.clock.now() - 50) == 1
        assert await ground.notices.sweep(ground.clock.now() - 50) == 0
        assert [one.id for one in await ground.notices.find()] == [3, 2]
