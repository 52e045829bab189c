"""Notifications in Slack: posted as text to an incoming webhook."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from smartspider.core.errors import DeliveryFailed, PrivateAddress, RequestInvalid
from smartspider.core.notifications import NotificationTarget
from smartspider.installation.settings import Settings
from smartspider.services.notifications.notifier import Message, Notifier
from smartspider.wiring.opening import open_folder

BODY = b'{"event":"run.failed","at":"2026-01-01","run":{"run_id":"5","task":"a<b>","reason":"x & y"}}'


class Receiver:
    """Stands where Slack is."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.status = 200
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        return web.Response(status=self.status, text="ok")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()
    app = web.Application()
    app.router.add_post("/services/T0/B0/x", found.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/services/T0/B0/x"
    yield found
    await runner.cleanup()


def target(address: str) -> NotificationTarget:
    return NotificationTarget(1, "slack", address, ("run.failed",), None, True, "ann", 0.0)


async def test_a_message_is_posted_as_escaped_text(tmp_path: Path, receiver: Receiver) -> None:
    with open_folder(tmp_path, settings=Settings(allow_private="1")) as folder:
        await Notifier(folder).deliver(target(receiver.url), Message("7", BODY))
    (body,) = receiver.bodies
    headline, *details = body["text"].splitlines()
    assert headline == "*SmartSpider: a&lt;b&gt;, run 5: failed*"
    assert "reason: x &amp; y" in details


async def test_only_2xx_counts_as_delivered(tmp_path: Path, receiver: Receiver) -> None:
    receiver.status = 404
    with (
        open_folder(tmp_path, settings=Settings(allow_private="1")) as folder,
        pytest.raises(DeliveryFailed, match="404"),
    ):
        await Notifier(folder).deliver(target(receiver.url), Message("7", BODY))


def test_an_address_is_checked(tmp_path: Path) -> None:
    with open_folder(tmp_path) as folder:
        channel = Notifier(folder).channel("slack")
        channel.check_address("https://hooks.slack.com/services/T0/B0/x")
        assert channel.secret(1) is None
        with pytest.raises(RequestInvalid):
            channel.check_address("general")
        with pytest.raises(PrivateAddress):
            channel.check_address("http://127.0.0.1/services")
