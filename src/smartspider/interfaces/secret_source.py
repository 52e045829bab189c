"""Where the values of secrets come from that requests refer to as `${NAME}`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec


class SecretUse(msgspec.Struct, frozen=True):
    """The purpose that secrets are opened for."""

    owner: str | None = None
    """The owner of the task; None: a person runs the command on their own machine."""
    opened_by: str = "command"
    """The opener, for the audit: `run:7`."""


NOBODY = ""
"""The owner of no secret: the API has opened those that its preview may use."""
OWN_COMMAND = SecretUse()
"""A command that a person runs on their own machine."""


class SecretSource(Protocol):
    """1. Asked once when a job is opened, not per request. 2. Names without a value are absent from the
    answer; one that the owner of the task may not use raises `Forbidden`. 3. Nothing stores or logs a
    value; the caller adds it to its redactor.
    """

    async def find(self, names: Collection[str], use: SecretUse) -> dict[str, str]:
        """Return the values of the names that have one."""
