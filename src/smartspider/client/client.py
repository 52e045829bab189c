"""The client of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from smartspider.client.connection import Connection
from smartspider.client.handles import Logs, Runs, Tasks
from smartspider.client.operations import Operations
from smartspider.core.errors import SettingInvalid

SERVER = "SMARTSPIDER_SERVER"
TOKEN = "SMARTSPIDER_TOKEN"  # noqa: S105 - the name of a setting
CA_FILE = "SMARTSPIDER_CA_FILE"


class Client(Operations):
    """A server, as programs speak to it: `async with Client(url, token) as client: ...`.

    `tasks`, `runs` and `logs` lead to tasks and runs to hold on to. Below them, every operation of the API is
    a method by the name of its operationId that returns a view.
    """

    tasks: Tasks
    runs: Runs
    logs: Logs

    def __init__(self, url: str, token: str | None = None, *, ca_file: str | None = None) -> None:
        super().__init__(Connection(url, token, ca_file=ca_file))
        self.tasks = Tasks(self)
        self.runs = Runs(self)
        self.logs = Logs(self)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """A client by SMARTSPIDER_SERVER, SMARTSPIDER_TOKEN or SMARTSPIDER_TOKEN_FILE, and
        SMARTSPIDER_CA_FILE.
        """
        reach = reach_of(environment)
        return cls(reach.url, reach.token, ca_file=reach.ca_file)

    async def close(self) -> None:
        """Let go of the connection."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()


class Reach(msgspec.Struct, frozen=True):
    """Where a server is, and what to come with."""

    url: str
    token: str | None
    ca_file: str | None


def reach_of(environment: Mapping[str, str] | None = None) -> Reach:
    """What the environment says; raises `SettingInvalid`."""
    values = os.environ if environment is None else environment
    if not values.get(SERVER):
        raise SettingInvalid(f"{SERVER} is not set", hint="write the address of a server into it")
    return Reach(values[SERVER], _token(values), values.get(CA_FILE) or None)


def _token(values: Mapping[str, str]) -> str | None:
    if values.get(TOKEN):
        return values[TOKEN]
    path = values.get(f"{TOKEN}_FILE")
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{TOKEN}_FILE names {path}, which cannot be read: {error}") from error
