"""Ids of hosts that are known to be committed, for all transactions of a process."""

from __future__ import annotations

MOST = 100_000
"""Then it begins anew: a crawl of the whole web must not fill the memory with names."""


class KnownHosts:
    """Rows of hosts are never deleted, so an id that was committed once is right for ever.

    What a transaction finds or makes is kept apart until it is kept; one object per connection, the ids
    themselves may be shared.
    """

    def __init__(self, committed: dict[str, int] | None = None) -> None:
        self._committed: dict[str, int] = {} if committed is None else committed
        self._found: dict[str, int] = {}

    def get(self, name: str) -> int | None:
        """The id of a host, if it is known in this transaction."""
        host_id = self._committed.get(name)
        return self._found.get(name) if host_id is None else host_id

    def add(self, name: str, host_id: int) -> None:
        """It was found or made in this transaction."""
        self._found[name] = host_id

    def begin(self) -> None:
        """A transaction begins; what the one before found is not sure."""
        self._found.clear()

    def commit(self) -> None:
        """What the transaction found is sure now."""
        if self._found:
            if len(self._committed) + len(self._found) > MOST:
                self._committed.clear()
            self._committed.update(self._found)
            self._found.clear()
