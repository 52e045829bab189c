"""Notifications: which are written, and how they are delivered."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiosmtpd.smtp import SMTP, Envelope, Session
from tests.unit.keeper.conftest import Harness, installation_of

from smartspider.core.errors import DeliveryFailed, LeadershipLost, SettingInvalid
from smartspider.core.notifications import NotificationEvent, NotificationTarget
from smartspider.installation.keys import Keys
from smartspider.installation.setting_parsers import MailServer, parse_mail_server
from smartspider.installation.settings import Settings
from smartspider.interfaces.leadership import Term
from smartspider.keeper.notifications import DeliverNotifications, WriteNotifications
from smartspider.services.notifications.email import EmailChannel
from smartspider.services.notifications.messages import usual_items
from smartspider.services.notifications.notifier import BACKOFF_S, Message, Notifier, numbered_message
from smartspider.services.notifications.webhook import WebhookChannel, signature
from smartspider.services.runs.start import newest_plan
from smartspider.store.positions import NOTIFICATIONS, StoredPosition
from smartspider_testing.crashes import SimulatedCrash, crash_at

KEY = "a master key of the tests, long enough"
OPEN = Settings(allow_private="1", master_key=KEY)
CLOSED = Settings(master_key=KEY)
KEYS = Keys(KEY.encode())
BODY = b'{"event":"run.failed","at":"2026-01-01","run":{"run_id":"5","task":"shop","reason":"guard"}}'
EVERYTHING: tuple[NotificationEvent, ...] = ("run.finished", "run.failed", "run.paused", "run.few_rows")


def hook(address: str, number: int = 1) -> NotificationTarget:
    return NotificationTarget(number, "webhook", address, ("run.failed",), None, True, "ann", 0.0)


def webhooks(harness: Harness, settings: Settings = OPEN) -> WebhookChannel:
    return WebhookChannel(installation_of(harness.backend, settings))


async def term_of(harness: Harness) -> Term:
    term = await harness.backend.leadership.current()
    assert term is not None
    return term


async def tell(harness: Harness) -> list[tuple[str, dict[str, Any]]]:
    """Look at all events; what is in the outbox now, oldest first."""
    duty = WriteNotifications(harness.installation)
    await duty.do(await term_of(harness))
    found = (await harness.installation.notifications.find())[::-1]
    return [(one.name, msgspec.json.decode(one.data)) for one in found]


async def run_of(harness: Harness, *, items: int = 0, failed: int = 0) -> int:
    task = await harness.backend.tasks.get("shop")
    run = await harness.backend.store.create_run(
        await newest_plan(harness.installation, task), version=task.version
    )
    await harness.end_run(run.id, items=items, failed=failed)
    return run.id


async def test_what_became_of_a_run_is_told_once(harness: Harness) -> None:
    task = await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", EVERYTHING, task_id=task.id, actor="ann"
    )
    await run_of(harness, items=3)
    await run_of(harness, failed=2)
    told = await tell(harness)
    assert [name for name, _ in told] == ["run.finished", "run.failed"]
    assert told[0][1]["event"] == "run.finished"
    assert told[0][1]["run"]["items"] == 3
    assert told[0][1]["run"]["task"] == "shop"
    assert told[1][1]["run"]["state"] == "failed"
    assert "no entry URL" in told[1][1]["run"]["reason"]
    assert await tell(harness) == told


async def test_a_pause_is_told(harness: Harness) -> None:
    await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", EVERYTHING, task_id=None, actor="ann"
    )
    plan = await newest_plan(harness.installation, await harness.backend.tasks.get("shop"))
    run = await harness.backend.store.create_run(plan, version=1)
    await harness.backend.store.set_state(run.id, "running")
    await harness.backend.store.set_state(run.id, "paused", "guard: 5 failures in a row")
    ((name, data),) = await tell(harness)
    assert (name, data["run"]["reason"]) == ("run.paused", "guard: 5 failures in a row")


async def test_nobody_is_told_of_other_tasks_other_events_or_what_was_before(harness: Harness) -> None:
    await harness.task()
    other = await harness.task("other")
    await run_of(harness)
    await harness.pass_time(1.0)
    add = harness.installation.notifications.add_target
    await add("webhook", "http://late/", EVERYTHING, task_id=None, actor="ann")
    await add("webhook", "http://other/", EVERYTHING, task_id=other.id, actor="ann")
    await add("webhook", "http://failed/", ["run.failed"], task_id=None, actor="ann")
    assert await tell(harness) == []
    await harness.pass_time(1.0)
    await run_of(harness)
    assert len(await tell(harness)) == 1


async def test_a_paused_target_is_not_told_of_what_happened_meanwhile(harness: Harness) -> None:
    await harness.task()
    notifications = harness.installation.notifications
    target = await notifications.add_target("webhook", "http://h/", EVERYTHING, task_id=None, actor="ann")
    await notifications.change_target(target.id, actor="ann", is_enabled=False)
    await run_of(harness, items=1)
    assert await tell(harness) == []
    await notifications.change_target(target.id, actor="ann", is_enabled=True)
    assert await tell(harness) == []
    await run_of(harness, items=2)
    ((_, data),) = await tell(harness)
    assert data["run"]["items"] == 2


async def test_far_fewer_rows_than_usual_are_told(harness: Harness) -> None:
    await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", ["run.few_rows"], task_id=None, actor="ann"
    )
    for items in (10, 12, 11):
        await run_of(harness, items=items)
    assert await tell(harness) == []
    await run_of(harness, items=6)
    assert await tell(harness) == []
    await run_of(harness, items=5)
    ((name, data),) = await tell(harness)
    assert (name, data["usual_items"], data["run"]["items"]) == ("run.few_rows", 10.5, 5)


@pytest.mark.parametrize(
    ("items", "earlier", "usual"),
    [
        (0, [10, 10], None),
        (4, [10, 10, 10], 10.0),
        (5, [10, 10, 10], None),
        (0, [0, 0, 0], None),
        (40, [100, 100, 1, 1, 100, 1, 1], 100.0),
    ],
)
def test_few_is_under_half_of_the_median_of_the_last_five(
    items: int, earlier: list[int], usual: float | None
) -> None:
    assert usual_items(items, earlier) == usual


async def test_without_targets_nothing_is_written_event_by_event(harness: Harness) -> None:
    await harness.task()
    await run_of(harness)
    assert await tell(harness) == []
    position = StoredPosition(harness.installation.database, NOTIFICATIONS, epoch=harness.epoch)
    assert await position.read() == 0


async def test_a_leader_that_has_seen_all_events_hears_of_the_next(harness: Harness) -> None:
    await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", EVERYTHING, task_id=None, actor="ann"
    )
    duty = WriteNotifications(harness.installation)
    for number in range(3):
        await run_of(harness)
        await duty.do(await term_of(harness))
        assert len(await harness.installation.notifications.find()) == number + 1
        await duty.do(await term_of(harness))
        assert len(await harness.installation.notifications.find()) == number + 1


@pytest.mark.parametrize("place", ["notifications.put", "sink.put"])
async def test_a_crash_while_notifications_are_written_doubles_and_loses_none(
    harness: Harness, place: str
) -> None:
    await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", EVERYTHING, task_id=None, actor="ann"
    )
    await run_of(harness, failed=2)
    crash_at(place)
    with pytest.raises(SimulatedCrash):
        await tell(harness)
    position = StoredPosition(harness.installation.database, NOTIFICATIONS, epoch=harness.epoch)
    assert await position.read() == 0
    assert [name for name, _ in await tell(harness)] == ["run.failed"]
    assert await position.read() > 0


async def test_an_old_leader_tells_nothing(harness: Harness) -> None:
    await harness.task()
    await harness.installation.notifications.add_target(
        "webhook", "http://h/", EVERYTHING, task_id=None, actor="ann"
    )
    await run_of(harness)
    old = await term_of(harness)
    await harness.backend.leadership.resign("tests")
    await harness.backend.leadership.take("another", 10.0)
    duty = WriteNotifications(harness.installation)
    with pytest.raises(LeadershipLost):
        await duty.do(old)
    assert await harness.installation.notifications.find() == []


class Listener:
    """A webhook that keeps what it gets and answers as it is told."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.base = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.read()))
        status = self.answers.pop(0) if self.answers else 200
        headers = {"Location": f"{self.base}/elsewhere"} if 300 <= status < 400 else {}
        return web.Response(status=status, headers=headers)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    listener = Listener()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", listener.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    listener.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield listener
    await runner.cleanup()


async def test_a_webhook_is_signed(harness: Harness, listener: Listener) -> None:
    channel = webhooks(harness)
    await channel.send(hook(listener.base + "/hook?key=1", 7), numbered_message("42", BODY))
    ((headers, body),) = listener.got
    told = msgspec.json.decode(body)
    assert (told["id"], told["event"], told["run"]["task"]) == ("42", "run.failed", "shop")
    assert headers["X-SmartSpider-Id"] == "42"
    timestamp = headers["X-SmartSpider-Timestamp"]
    assert timestamp == str(int(harness.clock.now()))
    secret = KEYS.webhook_secret(7)
    wanted = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["X-SmartSpider-Signature"] == f"v1={wanted}"
    assert signature(secret, timestamp, body) == f"v1={wanted}"


@pytest.mark.parametrize(
    ("status", "said"),
    [(500, "returned status 500"), (404, "returned status 404"), (302, "redirects are not")],
)
async def test_only_success_counts_as_arrived(
    harness: Harness, listener: Listener, status: int, said: str
) -> None:
    listener.answers = [status]
    with pytest.raises(DeliveryFailed, match=said):
        await webhooks(harness).send(hook(listener.base), numbered_message("1", BODY))
    assert len(listener.got) == 1  # no redirect was followed


async def test_a_webhook_that_is_not_there_is_said_so_without_its_secret(harness: Harness) -> None:
    channel = webhooks(harness)
    with pytest.raises(DeliveryFailed) as caught:
        await channel.send(hook("http://127.0.0.1:1/hook?key=hidden"), numbered_message("1", BODY))
    assert "127.0.0.1" in caught.value.message
    assert "hidden" not in caught.value.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0x7f000001"])
async def test_private_addresses_are_not_told(harness: Harness, listener: Listener, host: str) -> None:
    port = listener.base.rpartition(":")[2]
    channel = webhooks(harness, CLOSED)
    with pytest.raises(DeliveryFailed, match=r"private|this machine"):
        await channel.send(hook(f"http://{host}:{port}/"), numbered_message("1", BODY))
    assert listener.got == []


async def test_a_name_that_leads_inside_is_not_told(
    harness: Harness, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(*_args: object, **_more: object) -> list[dict[str, object]]:
        return [{"hostname": "h", "host": "127.0.0.1", "port": 80, "family": 2, "proto": 0, "flags": 0}]

    # no name server is asked in tests
    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    channel = webhooks(harness, CLOSED)
    with pytest.raises(DeliveryFailed, match="private"):
        await channel.send(
            hook(f"http://hooks.example:{listener.base.rpartition(':')[2]}/"), numbered_message("1", BODY)
        )
    assert listener.got == []


async def delivering(harness: Harness, address: str) -> Callable[[], Awaitable[None]]:
    """An outbox with one notification, and the duty that delivers it."""
    target = await harness.installation.notifications.add_target(
        "webhook", address, ["run.failed"], task_id=None, actor="ann"
    )
    await harness.installation.notifications.put([(target.id, 1, "run.failed", 5, BODY)], epoch=harness.epoch)
    deliver_to = Notifier(installation_of(harness.backend, OPEN)).deliver
    duty = DeliverNotifications(harness.installation.notifications, deliver_to, harness.clock)

    async def deliver() -> None:
        await duty.do(await term_of(harness))

    return deliver


async def test_what_did_not_arrive_is_tried_again_with_the_same_id(
    harness: Harness, listener: Listener
) -> None:
    listener.answers = [500, 503]
    deliver = await delivering(harness, listener.base)
    for wait_s in (*BACKOFF_S[:2], 0.0):
        await deliver()
        await deliver()
        await harness.pass_time(wait_s)
    assert [headers["X-SmartSpider-Id"] for headers, _ in listener.got] == ["1", "1", "1"]
    (notification,) = await harness.installation.notifications.find()
    assert (notification.tries, notification.error, notification.due_at) == (3, "", None)


async def test_after_five_tries_in_an_hour_a_notification_is_given_up(
    harness: Harness, listener: Listener
) -> None:
    listener.answers = [500] * 100
    deliver = await delivering(harness, listener.base)
    begun = harness.clock.now()
    while (await harness.installation.notifications.find())[0].due_at is not None:
        await deliver()
        await harness.pass_time(30.0)
    (notification,) = await harness.installation.notifications.find()
    assert (notification.tries, notification.error) == (5, "127.0.0.1 returned status 500")
    assert len(listener.got) == 5
    assert 3000 < harness.clock.now() - begun < 4000


async def test_a_slow_webhook_does_not_keep_others_waiting(harness: Harness) -> None:
    arrived: list[int] = []
    release = asyncio.Event()

    class Slow:
        async def deliver(self, target: NotificationTarget, message: Message) -> None:
            if target.id == 1:
                await release.wait()
            arrived.append(target.id)
            if target.id == 3:
                release.set()

    for number in (1, 2, 3):
        await harness.installation.notifications.add_target(
            "webhook", "http://h/", ["run.failed"], task_id=None, actor="ann"
        )
        await harness.installation.notifications.put(
            [(number, number, "run.failed", 5, BODY)], epoch=harness.epoch
        )
    await DeliverNotifications(harness.installation.notifications, Slow().deliver, harness.clock).do(
        await term_of(harness)
    )
    assert arrived == [2, 3, 1]


async def test_a_mistake_while_delivering_is_no_endless_loop(harness: Harness) -> None:
    class Broken:
        tries = 0

        async def deliver(self, target: NotificationTarget, message: Message) -> None:
            self.tries += 1
            raise ValueError("a mistake")

    broken = Broken()
    await delivering(harness, "http://h/")
    await DeliverNotifications(harness.installation.notifications, broken.deliver, harness.clock).do(
        await term_of(harness)
    )
    assert broken.tries == 1
    (notification,) = await harness.installation.notifications.find()
    assert notification.error == "unexpected error"


class Mailbox:
    def __init__(self) -> None:
        self.letters: list[Envelope] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - its name
        self.letters.append(envelope)
        return "250 OK"


def mail_to(address: str) -> NotificationTarget:
    return NotificationTarget(1, "email", address, ("run.failed",), None, True, "ann", 0.0)


def mail_channel(harness: Harness, server: MailServer | None) -> EmailChannel:
    return EmailChannel(installation_of(harness.backend, Settings(mail=server)))


async def test_an_email_arrives(harness: Harness) -> None:
    mailbox = Mailbox()
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: SMTP(mailbox), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        server_url = f"smtp://127.0.0.1:{port}"
        mail = mail_channel(harness, parse_mail_server(server_url, "spider@example.com"))
        await mail.send(mail_to("ann@example.com"), numbered_message("42", BODY))
    (envelope,) = mailbox.letters
    assert (envelope.mail_from, envelope.rcpt_tos) == ("spider@example.com", ["ann@example.com"])
    text = envelope.content
    assert isinstance(text, bytes)
    assert b"Subject: SmartSpider: shop, run 5: failed" in text
    assert b"X-SmartSpider-Id: 42" in text
    assert b"reason: guard" in text


async def test_mail_that_cannot_be_sent_says_why(harness: Harness) -> None:
    with pytest.raises(DeliveryFailed, match="no mail server"):
        await mail_channel(harness, None).send(mail_to("ann@example.com"), numbered_message("1", BODY))
    dead = MailServer("127.0.0.1", 1, is_tls=False, sender="a@b.c")
    with pytest.raises(DeliveryFailed, match="cannot be used"):
        await mail_channel(harness, dead).send(mail_to("ann@example.com"), numbered_message("1", BODY))


def test_the_url_of_a_mail_server_is_read() -> None:
    assert parse_mail_server("", "") is None
    plain = MailServer("mail.example", 587, is_tls=False, sender="a@b.c")
    assert parse_mail_server("smtp://mail.example", "a@b.c") == plain
    assert parse_mail_server("smtps://ann:p%40ss@mail.example:4650/", "a@b.c") == MailServer(
        "mail.example", 4650, True, "a@b.c", "ann", "p@ss"
    )
    for wrong in ("mail.example", "http://mail.example", "smtp://", "smtp://h:port", "smtp://h/path"):
        with pytest.raises(SettingInvalid) as caught:
            parse_mail_server(wrong, "a@b.c")
        assert wrong not in caught.value.message
