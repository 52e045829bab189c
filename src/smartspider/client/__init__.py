"""The Python SDK: `Client` for asyncio programs, `SyncClient` for scripts."""

from smartspider.client.client import Client
from smartspider.client.handles import RunHandle, StreamEvent, TaskHandle
from smartspider.client.live import LiveMessage, LiveStream
from smartspider.client.retry import ClientRetry
from smartspider.client.rows import Results
from smartspider.client.sync import SyncClient

__all__ = [
    "Client",
    "ClientRetry",
    "LiveMessage",
    "LiveStream",
    "Results",
    "RunHandle",
    "StreamEvent",
    "SyncClient",
    "TaskHandle",
]
