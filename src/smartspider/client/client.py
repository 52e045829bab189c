"""The asynchronous client of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from smartspider.client.handles import Logs, Runs, Tasks
from smartspider.client.http import ServerAddress, ServerConnection
from smartspider.client.live import LiveStream
from smartspider.client.remote import RemoteOperations
from smartspider.client.retry import ClientRetry
from smartspider.core.errors import SettingInvalid

SERVER = "SMARTSPIDER_SERVER"
TOKEN = "SMARTSPIDER_TOKEN"  # noqa: S105 - the name of a setting
CA_FILE = "SMARTSPIDER_CA_FILE"


class Client(RemoteOperations):
    """A client of a server: `async with Client(url, token) as client: ...`.

    `tasks`, `runs` and `logs` return handles. Every operation of the API is also a method, named by its
    operationId, that returns a view.
    """

    tasks: Tasks
    runs: Runs
    logs: Logs

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        ca_file: str | None = None,
        retry: ClientRetry = ClientRetry(),
    ) -> None:
        super().__init__(ServerConnection(ServerAddress(url, token, ca_file), retry))
        self.tasks = Tasks(self)
        self.runs = Runs(self)
        self.logs = Logs(self)

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Create a client from SMARTSPIDER_SERVER, SMARTSPIDER_TOKEN or SMARTSPIDER_TOKEN_FILE, and
        SMARTSPIDER_CA_FILE.
        """
        address = address_from_env(environment)
        return cls(address.url, address.token, ca_file=address.ca_file)

    def live(self) -> LiveStream:
        """Return a stream of what you watch: runs, log lines, machines and hosts, over one connection."""
        return LiveStream(self.connection)

    async def close(self) -> None:
        """Close the connection."""
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()


def address_from_env(environment: Mapping[str, str] | None = None) -> ServerAddress:
    """Return the address the environment names; raise `SettingInvalid`."""
    values = os.environ if environment is None else environment
    if not values.get(SERVER):
        raise SettingInvalid(f"{SERVER} is not set", hint="set it to the URL of a server")
    return ServerAddress(values[SERVER], _token(values), values.get(CA_FILE) or None)


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
