"""Notices by webhook: one signed POST, no redirect, no private address, ten seconds."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import aiohttp
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from smartspider import __version__
from smartspider.core.errors import PrivateAddress, SettingInvalid, Undelivered
from smartspider.core.notices import NoticeTarget
from smartspider.core.urls import normal_url
from smartspider.fetch.addresses import AddressPolicy
from smartspider.fetch.resolver import CheckedResolver
from smartspider.interfaces.clock import Clock
from smartspider.services.post import Letter, signature

TIMEOUT_S = 10.0


class Webhooks:
    """A carrier. The address is judged when it is resolved, so a name that moves inside is refused."""

    def __init__(self, policy: AddressPolicy, secret_of: Callable[[int], str], clock: Clock) -> None:
        self._policy = policy
        self._secret_of = secret_of
        self._clock = clock

    async def carry(self, target: NoticeTarget, letter: Letter) -> None:
        """POST a letter; only an answer of 2xx counts as arrived."""
        try:
            refusal = self._policy.refuse_url(target.address)
        except SettingInvalid:
            raise Undelivered("the address is not an http(s) URL") from None
        if refusal is not None:
            raise Undelivered(refusal.message)
        place = urlsplit(target.address).hostname or "the webhook"
        try:
            status = await self._post(target, letter)
        except PrivateAddress as error:
            raise Undelivered(error.message) from error
        except TimeoutError as error:
            raise Undelivered(f"{place} did not answer within {TIMEOUT_S:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            cause = error.__cause__ if isinstance(error.__cause__, PrivateAddress) else None
            raise Undelivered(cause.message if cause else f"{place}: {_short(error)}") from error
        if not 200 <= status < 300:
            hint = "; redirects are not followed" if 300 <= status < 400 else ""
            raise Undelivered(f"{place} answered {status}{hint}")

    async def _post(self, target: NoticeTarget, letter: Letter) -> int:
        timestamp = str(int(self._clock.now()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"SmartSpider/{__version__} (notices)",
            "X-SmartSpider-Id": letter.notice_id,
            "X-SmartSpider-Timestamp": timestamp,
            "X-SmartSpider-Signature": signature(self._secret_of(target.id), timestamp, letter.body),
        }
        connector = aiohttp.TCPConnector(
            resolver=CheckedResolver(self._policy, ThreadedResolver()), force_close=True
        )
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            ) as session,
            session.post(
                URL(normal_url(target.address) or target.address, encoded=True),
                data=letter.body,
                headers=headers,
                allow_redirects=False,
            ) as answer,
        ):
            return answer.status


def _short(error: BaseException) -> str:
    """The kind of an error, and what the system says; nothing of the address, which may hold a secret."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else ""
    return said or type(error).__name__
