"""The Python SDK: `Client` for programs that speak to a server, and `SyncClient` for scripts."""

from smartspider.client.client import Client
from smartspider.client.handles import Event, Run, Task
from smartspider.client.rows import Results
from smartspider.client.sync import SyncClient

__all__ = ["Client", "Event", "Results", "Run", "SyncClient", "Task"]
