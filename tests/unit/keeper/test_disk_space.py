"""A store without room: who is told, and how often."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from tests.unit.keeper.conftest import Harness

from smartspider.core.errors import DeliveryFailed, StoreFull, StoreUnavailable
from smartspider.core.notifications import NotificationTarget
from smartspider.interfaces.leadership import Term
from smartspider.keeper.health import WatchDiskSpace
from smartspider.keeper.messages import MemoryOutbox
from smartspider.services.notifications.email import compose_mail
from smartspider.services.notifications.notifier import BACKOFF_S, Message
from smartspider.services.runs.start import newest_plan

TERM = Term("tests", 7, 1e12)


class Disk:
    """Has space, or not; and a delivery that may fail."""

    def __init__(self) -> None:
        self.error: StoreUnavailable | None = None
        self.brings = True
        self.brought: list[tuple[str, Message]] = []

    async def check_room(self) -> None:
        if self.error is not None:
            raise self.error

    async def deliver(self, target: NotificationTarget, message: Message) -> None:
        if not self.brings:
            raise DeliveryFailed("away")
        self.brought.append((target.address, message))

    @property
    def told(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(message.body) for _, message in self.brought]


@pytest.fixture
async def disk(harness: Harness) -> Disk:
    add = harness.installation.notifications.add_target
    await add("webhook", "http://all/", ["store.full", "store.returned"], task_id=None, actor="ann")
    await add("webhook", "http://runs/", ["run.failed"], task_id=None, actor="ann")
    return Disk()


def watching(harness: Harness, disk: Disk) -> WatchDiskSpace:
    one = harness.installation
    outbox = MemoryOutbox(one.notifications, disk.deliver, harness.clock)
    return WatchDiskSpace(disk.check_room, one.store, outbox, harness.clock)


async def test_a_full_disk_and_its_end_are_told_once_to_who_wants_to_know(
    harness: Harness, disk: Disk
) -> None:
    await harness.task()
    plan = await newest_plan(harness.installation, await harness.backend.tasks.get("shop"))
    run = await harness.backend.store.create_run(plan, version=1)
    duty = watching(harness, disk)
    await duty.do(TERM)
    disk.error = StoreFull("the store takes no writes: disk full")
    for _ in range(3):
        await duty.do(TERM)
        await harness.clock.advance(2.0)
    disk.error = None
    for _ in range(3):
        await duty.do(TERM)
    assert [place for place, _ in disk.brought] == ["http://all/", "http://all/"]
    full, returned = disk.told
    assert (full["event"], returned["event"]) == ("store.full", "store.returned")
    assert full["store"]["reason"] == "the store takes no writes: disk full"
    assert full["store"]["runs"] == [str(run.id)]
    assert returned["store"]["away_s"] == 6.0
    assert full["id"] != returned["id"]


async def test_a_notification_that_failed_is_delivered_again(harness: Harness, disk: Disk) -> None:
    duty = watching(harness, disk)
    disk.error, disk.brings = StoreFull("full"), False
    await duty.do(TERM)
    disk.brings = True
    await duty.do(TERM)
    assert disk.brought == []
    await harness.clock.advance(BACKOFF_S[0])
    await duty.do(TERM)
    assert [one["event"] for one in disk.told] == ["store.full"]


async def test_a_store_that_does_not_answer_is_neither_full_nor_well(harness: Harness, disk: Disk) -> None:
    duty = watching(harness, disk)
    for error in (StoreUnavailable("away"), StoreFull("full"), StoreUnavailable("away"), StoreFull("full")):
        disk.error = error
        with suppress(StoreUnavailable):
            await duty.do(TERM)
    assert [one["event"] for one in disk.told] == ["store.full"]


async def test_it_can_be_read_in_a_mail(harness: Harness, disk: Disk) -> None:
    duty = watching(harness, disk)
    disk.error = StoreFull("the store takes no writes: disk full")
    await duty.do(TERM)
    message = compose_mail("from@x", "to@x", disk.brought[0][1])
    assert message["Subject"] == "SmartSpider: the store is full"
    assert "reason: the store takes no writes: disk full" in message.get_content()
