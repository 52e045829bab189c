"""Delivering notices: by signed webhook or by email."""

from __future__ import annotations

import hashlib
import hmac
from typing import Protocol

import msgspec

from smartspider.core.notices import Notice, NoticeTarget
from smartspider.interfaces.clock import Clock

BACKOFF_S = (30.0, 120.0, 600.0, 2700.0)
"""How long to wait after each try that failed; after the last one the notice is given up."""


class Letter(msgspec.Struct, frozen=True):
    """What is sent to whom: the number that stays the same for each try, and the JSON."""

    notice_id: str
    body: bytes


class Carrier(Protocol):
    """Brings letters to targets of one kind; raises `Undelivered`."""

    async def carry(self, target: NoticeTarget, letter: Letter) -> None:
        """Bring it."""


class Post(msgspec.Struct, frozen=True):
    """Carriers by the kind of target."""

    carriers: dict[str, Carrier]

    async def deliver(self, target: NoticeTarget, letter: Letter) -> None:
        """Bring a letter; raises `Undelivered`."""
        await self.carriers[target.kind].carry(target, letter)


def letter_of(notice: Notice) -> Letter:
    """A notice with its number, which stays the same for each try."""
    return letter(str(notice.id), notice.data)


def letter(notice_id: str, data: bytes) -> Letter:
    """JSON of an object with an id put before the rest."""
    rest = data.strip()[1:]
    comma = b"" if rest.startswith(b"}") else b","
    return Letter(notice_id, b'{"id":' + msgspec.json.encode(notice_id) + comma + rest)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What `X-SmartSpider-Signature` holds: HMAC-SHA256 of `timestamp.body`."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


def retry_at(clock: Clock, tries: int) -> float | None:
    """When to try again after so many tries that failed before this one; None: give up."""
    return clock.now() + BACKOFF_S[tries] if tries < len(BACKOFF_S) else None
