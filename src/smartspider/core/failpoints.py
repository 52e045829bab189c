"""Fail points: named places in the code where fault tests end the process. Otherwise they do nothing."""

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

FILES = ("file.created", "file.half_written", "file.written", "file.linked")
"""Between the steps of writing a downloaded file."""

TASKS = ("task.versioned", "audit.added", "audit.headed", "run.created")
"""Between the steps of writing tasks, runs and the audit log."""

IDEMPOTENCY = ("answer.claimed", "answer.made")
"""Between the steps of answering a request with an Idempotency-Key."""

CLUSTER = ("ledger.committed", "ledger.offered", "ledger.acked")
"""Between the commit of a settle and the update of a remote frontier."""

KEEPER = ("schedule.fired", "notifications.put", "sink.put")
"""Between the steps of the keeper's writes."""

VAULT = ("vault.rewrapped", "cookies.lent", "cookies.stored")
"""After each batch of a rotation of the master key, before its commit, and after commits about cookies."""

LEADER = ("keeper.arm", "keeper.drop", "keeper.replay", "keeper.refill", "keeper.complete")
"""Inside the leader's duties, between a read and the write based on it."""

MIGRATION = ("move.begun", "move.piece", "move.settled", "move.closed", "move.finished")
"""Between the steps of migrating a data folder to a cluster."""

_on_reach: Callable[[str], None] | None = None


def arm(on_reach: Callable[[str], None] | None) -> None:
    """Call `on_reach` at every fail point from now on; None disarms them."""
    global _on_reach  # noqa: PLW0603 - one switch for the whole process is the point
    _on_reach = on_reach


def reach(name: str) -> None:
    """Report that execution reached the fail point `name`."""
    if _on_reach is not None:
        _on_reach(name)
