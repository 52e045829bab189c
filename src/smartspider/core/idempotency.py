"""The claim of the request with an Idempotency-Key that is being processed. Writes record it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class IdempotencyClaim(msgspec.Struct, frozen=True):
    """The right to process a request. It passes to another process when its holder stops responding."""

    actor: str
    key: str
    token: str
    """New for each claim, so that a former holder cannot pass as the current one."""


class _Work:
    """A claim while it is processed. Tasks that outlive it have a copy of the context."""

    def __init__(self, claim: IdempotencyClaim) -> None:
        self.claim: IdempotencyClaim | None = claim


_work: ContextVar[_Work | None] = ContextVar("claimed_work", default=None)


@contextmanager
def claim_context(claim: IdempotencyClaim) -> Iterator[None]:
    """Record this claim with everything that is written in the block."""
    work = _Work(claim)
    before = _work.set(work)
    try:
        yield
    finally:
        work.claim = None
        _work.reset(before)


def current_claim() -> IdempotencyClaim | None:
    """Return the claim being processed in this context, if any."""
    work = _work.get()
    return None if work is None else work.claim
