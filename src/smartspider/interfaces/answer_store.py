"""Answers to requests that may be sent twice (Idempotency-Key)."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.idempotency import IdempotencyClaim

KEPT_S = 86_400.0
WORKED_ON_S = 5.0
"""After this without a word of its holder a claim counts as given up: its process died."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """An answer as it was given."""

    status: int
    headers: dict[str, str]
    body: bytes


class Made(msgspec.Struct, frozen=True):
    """What was made of a request whose answer got lost with its process, such as `run:7`."""

    subject: str


class AnswerStore(Protocol):
    """1. Of several requests of one actor with one key, one is worked on; others get its answer, or
       `Unanswered` while there is none, or a `Conflict` when they ask for something else.
    2. A request that was given up, or whose holder has been silent for `WORKED_ON_S`, can be worked on again,
       unless something was made of it.
    3. Answers are kept for a day.
    4. What is audited while a claim is worked on (`core.claims.working_on`) is made in one transaction with a
       mark at that claim. Who asks again is told of it (`Made`), and nothing is made twice, wherever the
       first one died.
    5. Whoever lost a claim, because another has it or its answer is kept, can make nothing under it any more.
    """

    async def claim(self, actor: str, key: str, asked: bytes) -> KeptAnswer | Made | IdempotencyClaim:
        """The answer that was given, what was made without an answer, or the claim: it is ours to work on."""

    async def renew(self, claim: IdempotencyClaim) -> None:
        """It is still worked on."""

    async def keep(self, claim: IdempotencyClaim, answer: KeptAnswer) -> None:
        """Keep the answer to what was claimed."""

    async def give_up(self, claim: IdempotencyClaim) -> None:
        """No answer will come; somebody may try again, and gets what was made, if anything was."""

    async def sweep(self) -> int:
        """Forget some answers that are older than a day; how many, 0 when there are no more."""
