"""Search over all nouns.

Tasks, hosts and nodes are found by the start of their names, all but hosts and nodes by their ids, users by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import quote

from smartspider.core.access import Area, Principal
from smartspider.core.errors import NotFound
from smartspider.core.runs.run import Run
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services.inputs import is_id
from smartspider.services.nodes import list_nodes
from smartspider.store.hosts.store import HostRecord
from smartspider.views.search import SearchHit, SearchKind

AREAS: dict[SearchKind, Area] = {
    "task": "tasks",
    "run": "runs",
    "schedule": "schedules",
    "host": "hosts",
    "node": "nodes",
    "user": "users",
    "token": "tokens",
}


async def search(installation: Installation, principal: Principal, text: str, limit: int) -> list[SearchHit]:
    """Return up to `limit` hits of each kind that the principal may read, exact ids first."""
    found: list[SearchHit] = []
    wanted = text.strip()
    for kind, area in AREAS.items():
        if wanted and principal.may(area, "read"):
            hits = [hit async for hit in _hits(installation, principal, kind, wanted, limit)]
            found += {hit.path: hit for hit in hits}.values()
    return found


async def _hits(
    installation: Installation, principal: Principal, kind: SearchKind, text: str, limit: int
) -> AsyncIterator[SearchHit]:
    """Yield the hits of one kind; every look-up is by key and bounded."""
    id_ = int(text) if is_id(text) else None
    match kind:
        case "task":
            with suppress(NotFound):
                if id_ is not None and not (task := await installation.tasks.get(id_)).is_deleted:
                    yield _task(task)
            for task in await installation.tasks.find_named(text, limit=limit):
                yield _task(task)
        case "run":
            with suppress(NotFound):
                if id_ is not None:
                    yield _run(await installation.store.get_run(id_))
        case "schedule":
            with suppress(NotFound):
                if id_ is not None:
                    schedule = await installation.schedules.get(id_)
                    task = await installation.tasks.get(schedule.task_id)
                    yield SearchHit(kind, str(id_), f"schedule {id_}", task.name, f"/api/schedules/{id_}")
        case "host":
            with suppress(NotFound):
                yield _host(await installation.hosts.get(text.lower()))
            for host in await installation.hosts.find(after=text.lower(), limit=limit):
                if host.host.startswith(text.lower()):
                    yield _host(host)
        case "node":
            for node in await list_nodes(installation):
                if node.node.startswith(text):
                    workers = f"{len(node.workers)} workers"
                    yield SearchHit(kind, node.node, node.node, workers, f"/api/nodes/{quote(node.node)}")
        case "user":
            with suppress(NotFound):
                user = await installation.users.get_user(text if id_ is None else id_)
                yield SearchHit(kind, str(user.id), user.name, user.role, f"/api/users/{user.id}")
        case "token":
            with suppress(NotFound):
                if id_ is not None and principal.owns(
                    (token := await installation.users.get_token(id_)).actor
                ):
                    yield SearchHit(kind, str(token.id), token.name, token.role, f"/api/tokens/{token.id}")


def _task(task: TaskRecord) -> SearchHit:
    return SearchHit("task", str(task.id), task.name, f"version {task.version}", f"/api/tasks/{task.id}")


def _run(run: Run) -> SearchHit:
    detail = f"{run.task_name}, {run.state}"
    return SearchHit("run", str(run.id), f"run {run.id}", detail, f"/api/runs/{run.id}")


def _host(host: HostRecord) -> SearchHit:
    detail = f"{host.delay_s:g} s between requests"
    return SearchHit("host", host.host, host.host, detail, f"/api/hosts/{quote(host.host)}")
