"""The synchronous client. Its types are in `sync.pyi`, generated from those of `Client` by
`scripts/sync_stub.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from smartspider.client.client import Client, address_from_env
from smartspider.client.handles import Logs, RunHandle, Runs, TaskHandle, Tasks
from smartspider.client.live import LiveStream
from smartspider.client.portal import Mirror, Portal
from smartspider.client.rows import Results


class SyncTasks(Mirror):
    """The tasks of a server."""


class SyncRuns(Mirror):
    """The runs of a server."""


class SyncLogs(Mirror):
    """The log lines of a server."""


class SyncLiveStream(Mirror):
    """Watches of a server; `messages()` is an iterator."""


class SyncTaskHandle(Mirror):
    """A task."""


class SyncRunHandle(Mirror):
    """A run of a task."""


class SyncResults(Mirror):
    """The rows of a run, or of the newest run of a task."""


Mirror.kinds = {
    Tasks: SyncTasks,
    Runs: SyncRuns,
    Logs: SyncLogs,
    LiveStream: SyncLiveStream,
    TaskHandle: SyncTaskHandle,
    RunHandle: SyncRunHandle,
    Results: SyncResults,
}


class SyncClient(Mirror):
    """A synchronous `Client`: `with SyncClient(url, token) as client: ...`. Its methods wait for the results
    of `Client`, and its streams are iterators.
    """

    def __init__(self, *address: Any, **options: Any) -> None:
        super().__init__(Client(*address, **options), Portal())

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Create a client from SMARTSPIDER_SERVER and SMARTSPIDER_TOKEN, like `Client.from_env`."""
        address = address_from_env(environment)
        return cls(address.url, address.token, ca_file=address.ca_file)

    def close(self) -> None:
        """Close the connection and stop the thread."""
        if not self._portal.is_closed:
            try:
                self._portal.run(self._inner.close())
            finally:
                self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()
