"""The workers of a data folder: the locks on their files tell which are alive."""

from __future__ import annotations

from smartspider.backends.sqlite.database import Database
from smartspider.backends.sqlite.presence import is_alive, worker_lock
from smartspider.store.nodes.workers import SqlWorkerRegistry


def sqlite_workers(database: Database) -> SqlWorkerRegistry:
    """See `interfaces/worker_registry.py`."""
    return SqlWorkerRegistry(
        database, lambda worker_id, _seen_at: is_alive(worker_lock(database.folder, worker_id))
    )
