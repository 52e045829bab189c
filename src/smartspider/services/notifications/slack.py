"""Notifications in Slack, through an incoming webhook."""

from __future__ import annotations

import msgspec

from smartspider.core.notifications import NotificationTarget
from smartspider.installation.installation import Installation
from smartspider.services.notifications.notifier import ChannelAddress, Message, describe
from smartspider.services.notifications.webhook import check_url, post_json


class SlackChannel:
    """Posts messages as text. The address is the URL of the incoming webhook, which is a secret itself."""

    address = ChannelAddress("url", "https://hooks.slack.com/services/T000/B000/XXXX")

    def __init__(self, installation: Installation) -> None:
        self._policy = installation.policy

    def lacks(self) -> str:
        """Return nothing: it needs no setting."""
        return ""

    def check_address(self, address: str) -> None:
        """Accept an http(s) URL that the address policy allows."""
        check_url(address, self._policy)

    def secret(self, target_id: int) -> str | None:  # noqa: ARG002 - part of the protocol
        """Return None: Slack verifies no signature."""
        return None

    async def send(self, target: NotificationTarget, message: Message) -> None:
        """Post the message; only a 2xx answer counts as delivered."""
        headline, lines = describe(message)
        text = "\n".join([f"*SmartSpider: {_escape(headline)}*", *map(_escape, lines)])
        await post_json(target.address, msgspec.json.encode({"text": text}), {}, self._policy)


def _escape(text: str) -> str:
    """Escape the three characters that Slack reads as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
