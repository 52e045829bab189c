"""Where the values of secrets come from that requests refer to as `${NAME}`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class SecretSource(Protocol):
    """1. Asked once when a job is opened, not per request. 2. Names without a value are absent from the
    answer. 3. Nothing stores or logs a value; the caller adds it to its redactor.
    """

    async def find(self, names: Collection[str]) -> dict[str, str]:
        """Return the values of the names that have one."""
