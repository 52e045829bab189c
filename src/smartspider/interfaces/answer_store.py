"""Answers to requests that may be sent twice (Idempotency-Key)."""

from __future__ import annotations

from typing import Protocol

import msgspec

KEPT_S = 86_400.0
WORKED_ON_S = 60.0
"""After this a request that has no answer counts as given up: its process died."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """An answer as it was given."""

    status: int
    headers: dict[str, str]
    body: bytes


class AnswerStore(Protocol):
    """1. Of several requests of one actor with one key, one is worked on; others get its answer, or a
       `Conflict` while there is none or when they ask for something else.
    2. A request that was given up, or whose process died a minute ago, can be worked on again.
    3. Answers are kept for a day.
    """

    async def claim(self, actor: str, key: str, asked: bytes) -> KeptAnswer | None:
        """The answer that was given, or None: it is ours to work on."""

    async def keep(self, actor: str, key: str, answer: KeptAnswer) -> None:
        """Keep the answer to what was claimed."""

    async def give_up(self, actor: str, key: str) -> None:
        """Nothing was done; somebody may try again."""

    async def sweep(self) -> int:
        """Forget some answers that are older than a day; how many, 0 when there are no more."""
