"""Notifications by webhook: one signed POST, no redirect, no private address, ten seconds."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from smartspider import __version__
from smartspider.core.errors import DeliveryFailed, PrivateAddress, SettingInvalid
from smartspider.core.notifications import NotificationTarget
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.urls import normal_url
from smartspider.fetch.private_addresses import CheckedResolver
from smartspider.installation.installation import Installation
from smartspider.services.notifications.notifier import ChannelAddress, Message
from smartspider.services.notifications.targets import address_invalid

TIMEOUT_S = 10.0


class WebhookChannel:
    """One signed POST without redirects; a name that resolves to a private address is
    refused at that moment.
    """

    address = ChannelAddress("url", "https://hooks.example.com/smartspider")

    def __init__(self, installation: Installation) -> None:
        self._policy = installation.policy
        self._installation = installation
        self._clock = installation.clock

    def lacks(self) -> str:
        """Return nothing: it needs no setting."""
        return ""

    def check_address(self, address: str) -> None:
        """Accept an http(s) URL that the address policy allows."""
        check_url(address, self._policy)

    def secret(self, target_id: int) -> str | None:
        """Return the key of the HMAC signatures of a target."""
        return self._installation.keys.webhook_secret(target_id)

    async def send(self, target: NotificationTarget, message: Message) -> None:
        """POST a message; only a 2xx response counts as delivered."""
        timestamp = str(int(self._clock.now()))
        secret = self._installation.keys.webhook_secret(target.id)
        headers = {
            "X-SmartSpider-Id": message.id,
            "X-SmartSpider-Timestamp": timestamp,
            "X-SmartSpider-Signature": signature(secret, timestamp, message.body),
        }
        await post_json(target.address, message.body, headers, self._policy)


def check_url(address: str, policy: AddressPolicy) -> None:
    """Raise `RequestInvalid` or `PrivateAddress` unless messages can be posted to this URL."""
    if not address.lower().startswith(("http://", "https://")) or normal_url(address) is None:
        raise address_invalid("is not an http(s) URL", "use a URL like https://hooks.example.com/smartspider")
    refusal = policy.refuse_url(address)
    if refusal is not None:
        raise refusal


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the value of `X-SmartSpider-Signature`: HMAC-SHA256 of `timestamp.body`."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


async def post_json(address: str, body: bytes, headers: Mapping[str, str], policy: AddressPolicy) -> None:
    """POST JSON to a public URL; raise `DeliveryFailed` unless the response is 2xx."""
    try:
        refusal = policy.refuse_url(address)
    except SettingInvalid:
        raise DeliveryFailed("the address is not an http(s) URL") from None
    if refusal is not None:
        raise DeliveryFailed(refusal.message)
    host = urlsplit(address).hostname or "the webhook"
    try:
        status = await _post(address, body, headers, policy)
    except PrivateAddress as error:
        raise DeliveryFailed(error.message) from error
    except TimeoutError as error:
        raise DeliveryFailed(f"{host} did not respond within {TIMEOUT_S:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, PrivateAddress) else None
        raise DeliveryFailed(cause.message if cause else f"{host}: {_short(error)}") from error
    if not 200 <= status < 300:
        hint = "; redirects are not followed" if 300 <= status < 400 else ""
        raise DeliveryFailed(f"{host} returned status {status}{hint}")


async def _post(address: str, body: bytes, headers: Mapping[str, str], policy: AddressPolicy) -> int:
    connector = aiohttp.TCPConnector(resolver=CheckedResolver(policy, ThreadedResolver()), force_close=True)
    defaults = {
        "Content-Type": "application/json",
        "User-Agent": f"SmartSpider/{__version__} (notifications)",
    }
    async with (
        aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        ) as session,
        session.post(
            URL(normal_url(address) or address, encoded=True),
            data=body,
            headers={**defaults, **headers},
            allow_redirects=False,
        ) as answer,
    ):
        return answer.status


def _short(error: BaseException) -> str:
    """Describe an error without its address, which may hold a secret."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else ""
    return reason or type(error).__name__
