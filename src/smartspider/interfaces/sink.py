"""Delivering rows in batches to a destination that stays: an outbox, a database, a queue.

A file that appears whole at the end is an `Output` (`interfaces/output.py`). A sink receives rows while more
are being stored, may be killed between any two batches, and continues from a stored position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class SinkRow(Protocol):
    """A row that can be delivered more than once with the effect of once."""

    @property
    def key(self) -> str:
        """The identity of the row at the destination: `RUN-NUMBER`."""

    @property
    def version(self) -> int:
        """The id of the row in the store. It grows from row to row of a feed, and a changed row has a new
        one.
        """


R_co = TypeVar("R_co", bound=SinkRow, covariant=True)
R_contra = TypeVar("R_contra", bound=SinkRow, contravariant=True)


class Feed(Protocol[R_co]):
    """Reads committed rows in the order of their versions; no row appears behind one that was read."""

    async def __call__(self, after: int, /, *, limit: int) -> Sequence[R_co]:
        """Return at most `limit` rows with versions greater than `after`."""


class Sink(Protocol[R_contra]):
    """A destination of rows.

    1. `put` returns once the destination has confirmed the whole batch; only then does the caller move its
       stored position.
    2. `put` is idempotent: rows that are already there, in whatever batches they came, change nothing.
    3. An older version of a key never replaces a newer one, so any part of a feed may be repeated.
    4. If `put` raises, any part of the batch may be there. The caller puts it again.
    5. `put` returns how many rows of the batch the destination holds, new or not; a sink may select rows.
    """

    async def put(self, rows: Sequence[R_contra]) -> int:
        """Store a batch at the destination."""


class Position(Protocol):
    """The version of the last row of a feed that a sink has confirmed.

    1. It is 0 before the first row, and never moves back.
    2. It is stored: it survives the process.
    3. A holder whose epoch has passed cannot move it and gets `LeadershipLost`.
    """

    async def read(self) -> int:
        """Return the position."""

    async def advance(self, version: int) -> None:
        """Move the position to a version."""
