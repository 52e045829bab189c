"""The contract of `store/notifications.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from smartspider.core import failpoints
from smartspider.core.datetimes import format_time
from smartspider.core.errors import LeadershipLost, NotAllowed, NotFound
from smartspider.core.events import RunEvent
from smartspider.core.notifications import NotificationTarget
from smartspider.core.runs.run import Run
from smartspider.services.notifications.outbox import NotificationOutbox
from smartspider.store.notifications import MAX_TARGETS
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.actions import begin
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.sink import Destination, SinkContract
from smartspider_testing.contracts.tasks.schedules import kept_task, leading
from smartspider_testing.crashes import crash_at

HOOK = "https://a.example/hook?key=secret"


async def hook(backend: Backend, task_id: int | None = None) -> NotificationTarget:
    """Add a webhook for failed runs."""
    return await backend.notices.add_target("webhook", HOOK, ["run.failed"], task_id=task_id, actor="ann")


class OutboxDestination(Destination[RunEvent]):
    """The outbox, with a target for failed runs. A run fails with every event."""

    def __init__(self, backend: Backend, run: Run, target: NotificationTarget, epoch: int) -> None:
        self._backend = backend
        self._run_id = run.id
        self._first_at = target.created_at
        self.sink = NotificationOutbox(backend.notices, backend.store, [target], epoch=epoch)

    def row(self, number: int) -> RunEvent:
        """Return the event of a failed run."""
        data = b'{"from":"running","to":"failed","reason":"tests"}'
        return RunEvent(100 + number, self._run_id, number, self._first_at + number, "run.state", data)

    def content(self, row: RunEvent) -> str:
        """Return the time that the notification names."""
        return str(format_time(row.at))

    async def held(self) -> list[str]:
        """Return the times of all notifications."""
        return sorted(json.loads(one.data)["at"] for one in await self._backend.notices.find())

    @contextmanager
    def crashing(self) -> Iterator[None]:
        """Crash before the commit."""
        crash_at("notifications.put")
        try:
            yield
        finally:
            failpoints.arm(None)


class NotificationOutboxContract(BackendContract, SinkContract[RunEvent]):
    """The outbox is a sink of events."""

    @pytest.fixture
    async def destination(self, backend: Backend) -> OutboxDestination:
        """Return an empty outbox."""
        target = await hook(backend)
        return OutboxDestination(backend, await begin(backend), target, await leading(backend))

    async def test_events_without_a_notification_are_not_selected(
        self, destination: OutboxDestination
    ) -> None:
        """Sink 5."""
        row = destination.row(1)
        progress = msgspec.structs.replace(row, name="run.progress")
        running = msgspec.structs.replace(row, data=b'{"to":"running"}')
        assert await destination.sink.put([progress, running]) == 0
        assert await destination.held() == []


class NotificationStoreContract(BackendContract):
    """No notification is sent twice or lost."""

    async def test_a_notification_is_queued_once(self, backend: Backend) -> None:
        """Notifications 1: also by several processes that read the same events."""
        target, epoch = await hook(backend), await leading(backend)
        other = await backend.another()
        notices = [(target.id, event, "run.failed", 7, b'{"n":1}') for event in (3, 4)]
        new = await asyncio.gather(
            *(each.notices.put(notices, epoch=epoch) for each in (backend, other, backend))  # type: ignore[arg-type]  # names are literals
        )
        assert sorted(new) == [0, 0, 2]
        assert len(await backend.notices.due()) == 2

    async def test_a_paused_target_gets_nothing_until_it_is_resumed(self, backend: Backend) -> None:
        """Notifications 4, 3: what waits stays, and a change without effect has no audit entry."""
        target, epoch = await hook(backend), await leading(backend)
        await backend.notices.put([(target.id, 1, "run.failed", 7, b"{}")], epoch=epoch)
        for _ in range(2):
            paused = await backend.notices.change_target(target.id, actor="bob", is_enabled=False)
            assert paused == msgspec.structs.replace(target, is_enabled=False)
        assert await backend.notices.due() == []
        assert await backend.notices.change_target(target.id, actor="bob", is_enabled=True) == target
        assert [one.target_id for one in await backend.notices.due()] == [target.id]
        entries = [entry for entry in await audit_rows(backend) if entry[1] == "notification.changed"]
        assert [(entry[0], entry[3]["enabled"]) for entry in entries] == [("bob", False), ("bob", True)]
        with pytest.raises(NotFound):
            await backend.notices.change_target(target.id + 1, actor="bob", is_enabled=False)

    async def test_who_does_not_lead_writes_nothing(self, backend: Backend) -> None:
        """Notifications 2."""
        target, epoch = await hook(backend), await leading(backend)
        await backend.notices.put([(target.id, 1, "run.failed", 7, b"{}")], epoch=epoch)
        (notice,) = await backend.notices.due()
        await backend.leadership.resign("keeper")
        await backend.leadership.take("another", 10.0)
        for act in (
            backend.notices.put([(target.id, 2, "run.failed", 7, b"{}")], epoch=epoch),
            backend.notices.mark_delivered(notice.id, epoch=epoch),
            backend.notices.mark_failed(notice.id, "no", retry_at=None, epoch=epoch),
        ):
            with pytest.raises(LeadershipLost):
                await act
        assert await backend.notices.due() == [notice]

    async def test_changes_to_targets_are_audited_without_their_address(self, backend: Backend) -> None:
        """Notifications 3: an address may hold a secret."""
        task_id, _ = await kept_task(backend)
        target = await hook(backend, task_id)
        assert target == await backend.notices.get_target(target.id)
        assert (target.address, target.events, target.task_id) == (HOOK, ("run.failed",), task_id)
        await backend.notices.delete_target(target.id, actor="bob")
        entries = [entry for entry in await audit_rows(backend) if entry[2] == f"notification:{target.id}"]
        assert [entry[:2] for entry in entries] == [
            ("ann", "notification.created"),
            ("bob", "notification.deleted"),
        ]
        assert "secret" not in str(entries)

    async def test_a_deleted_target_gets_nothing_more(self, backend: Backend) -> None:
        """Notifications 4."""
        target, epoch = await hook(backend), await leading(backend)
        await backend.notices.put([(target.id, 1, "run.failed", 7, b"{}")], epoch=epoch)
        await backend.notices.delete_target(target.id, actor="ann")
        await backend.notices.put([(target.id, 2, "run.failed", 7, b"{}")], epoch=epoch)
        assert await backend.notices.due() == []
        with pytest.raises(NotFound):
            await backend.notices.get_target(target.id)
        with pytest.raises(NotFound):
            await backend.notices.delete_target(target.id, actor="ann")

    async def test_a_deleted_task_takes_its_targets_with_it(self, backend: Backend) -> None:
        """Notifications 4."""
        task_id, _ = await kept_task(backend)
        await hook(backend, task_id)
        everything = await hook(backend)
        await backend.tasks.delete(task_id, actor="ann")
        assert await backend.notices.find_targets() == [everything]
        with pytest.raises(NotFound):
            await hook(backend, task_id)

    async def test_a_notification_waits_until_it_is_delivered_or_given_up(self, backend: Backend) -> None:
        """Notifications 1."""
        target, epoch = await hook(backend), await leading(backend)
        for event in (1, 2):
            await backend.notices.put([(target.id, event, "run.failed", 7, b"{}")], epoch=epoch)
        first, second = await backend.notices.due()
        assert [one.id for one in await backend.notices.due(limit=1)] == [first.id]
        await backend.notices.mark_failed(
            first.id, "x" * 5000, retry_at=backend.clock.now() + 60, epoch=epoch
        )
        await backend.notices.mark_delivered(second.id, epoch=epoch)
        assert await backend.notices.due() == []
        await backend.clock.advance(60.0)
        await backend.leadership.take("keeper", 1e6)
        (again,) = await backend.notices.due()
        assert (again.id, again.tries, again.ended_at) == (first.id, 1, None)
        assert len(again.error) < 1000
        await backend.notices.mark_failed(first.id, "gone", retry_at=None, epoch=epoch)
        assert await backend.notices.due() == []
        newest = await backend.notices.find(target_id=target.id)
        assert [(one.id, one.tries, one.error, one.due_at) for one in newest] == [
            (second.id, 1, "", None),
            (first.id, 2, "gone", None),
        ]
        assert all(one.ended_at is not None for one in newest)

    async def test_lists_are_found_by_cursors(self, backend: Backend) -> None:
        """Notifications 5."""
        one, two = await hook(backend), await hook(backend)
        epoch = await leading(backend)
        for event in range(1, 5):
            notices = [(target.id, event, "run.failed", 7, b"{}") for target in (one, two)]
            await backend.notices.put(notices, epoch=epoch)  # type: ignore[arg-type]  # names are literals
        newest = await backend.notices.find(limit=3)
        rest = await backend.notices.find(before=newest[-1].id)
        assert [notice.id for notice in (*newest, *rest)] == [8, 7, 6, 5, 4, 3, 2, 1]
        own = await backend.notices.find(target_id=two.id, limit=2)
        assert {notice.target_id for notice in own} == {two.id}
        assert len(await backend.notices.find(target_id=two.id, before=own[-1].id)) == 2
        assert await backend.notices.find_targets(after=one.id, limit=1) == [two]

    async def test_there_are_not_too_many_targets(self, backend: Backend) -> None:
        """Notifications 5."""
        for _ in range(MAX_TARGETS):
            await hook(backend)
        with pytest.raises(NotAllowed):
            await hook(backend)

    async def test_what_ended_long_ago_is_forgotten(self, backend: Backend) -> None:
        """Notifications 1: pending ones are kept."""
        target, epoch = await hook(backend), await leading(backend)
        for event in (1, 2, 3):
            await backend.notices.put([(target.id, event, "run.failed", 7, b"{}")], epoch=epoch)
        await backend.notices.mark_delivered(1, epoch=epoch)
        await backend.clock.advance(100.0)
        await backend.leadership.take("keeper", 1e6)
        await backend.notices.mark_delivered(3, epoch=epoch)
        assert await backend.notices.sweep(backend.clock.now() - 50) == 1
        assert await backend.notices.sweep(backend.clock.now() - 50) == 0
        assert [one.id for one in await backend.notices.find()] == [3, 2]
