"""Places between two steps where a fault test may end the process. In ordinary life they do nothing."""

from __future__ import annotations

from collections.abc import Callable

NAMES = (
    "settle.decided",
    "settle.closed",
    "settle.items",
    "settle.children",
    "settle.offered",
    "settle.retried",
    "settle.counted",
    "settle.before_commit",
    "settle.committed",
    "lease.committed",
    "fetch.sent",
    "fetch.received",
    "page.extracted",
)

WRITES = ("task.versioned", "audit.added", "audit.headed", "run.created")
"""The same between the steps of writing tasks, runs and the audit."""

ANSWERS = ("answer.claimed", "answer.made")
"""The same between the steps of answering a request that may be sent twice."""

CLUSTER = ("ledger.committed", "ledger.offered", "ledger.acked")
"""The same between settling in the store and telling a frontier apart from it."""

KEEPS = ("schedule.fired", "notices.put")
"""The same between the steps of the keeper's writes."""

LEADS = ("keeper.arm", "keeper.drop", "keeper.replay", "keeper.refill", "keeper.complete")
"""The same inside the duties of a leader, between what it read and what it writes."""

MOVES = ("move.begun", "move.piece", "move.settled", "move.closed", "move.finished")
"""The same between the steps of moving a data folder to a cluster."""

_on_reach: Callable[[str], None] | None = None


def arm(on_reach: Callable[[str], None] | None) -> None:
    """Call this at every place from now on; None disarms."""
    global _on_reach  # noqa: PLW0603 - one switch for the whole process is the point
    _on_reach = on_reach


def reach(name: str) -> None:
    """The code has come to this place."""
    if _on_reach is not None:
        _on_reach(name)
