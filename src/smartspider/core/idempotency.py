"""The request with an Idempotency-Key that is worked on: what is made of it is written down with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class IdempotencyClaim(msgspec.Struct, frozen=True):
    """The right to work on a request; another one takes its place when its holder falls silent."""

    actor: str
    key: str
    token: str
    """New for each claim: a holder that lost it cannot pass for the next one."""


class _Work:
    """A claim, for as long as it is worked on: tasks that outlive that have a copy of the context."""

    def __init__(self, claim: IdempotencyClaim) -> None:
        self.claim: IdempotencyClaim | None = claim


_work: ContextVar[_Work | None] = ContextVar("claimed_work", default=None)


@contextmanager
def working_on(claim: IdempotencyClaim) -> Iterator[None]:
    """Whatever is written for people to look up later is written under this claim."""
    work = _Work(claim)
    before = _work.set(work)
    try:
        yield
    finally:
        work.claim = None
        _work.reset(before)


def current() -> IdempotencyClaim | None:
    """The claim that is worked on here, if any."""
    work = _work.get()
    return None if work is None else work.claim
