"""Search over all nouns.

Tasks, hosts and nodes are found by the start of their names; tasks, runs, schedules, users and tokens by id;
users by name as well. Every look-up is by key and bounded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from urllib.parse import quote

import msgspec

from smartspider.core.access import Area, Principal
from smartspider.core.errors import NotFound
from smartspider.core.plurals import count
from smartspider.installation.installation import Installation
from smartspider.services.inputs import is_id
from smartspider.services.nodes import list_nodes
from smartspider.store.tasks import TaskFilter
from smartspider.views.search import SearchHit


class SearchQuery(msgspec.Struct, frozen=True):
    """A search on behalf of a principal. `id` is the text as a number, if it is one."""

    installation: Installation
    principal: Principal
    text: str
    id: int | None
    limit: int


async def search(installation: Installation, principal: Principal, text: str, limit: int) -> list[SearchHit]:
    """Return up to `limit` hits of each kind that the principal may read, exact ids first."""
    wanted = text.strip()
    query = SearchQuery(installation, principal, wanted, int(wanted) if is_id(wanted) else None, limit)
    found: dict[str, SearchHit] = {}
    for area, hits in _KINDS:
        if wanted and principal.may(area, "read"):
            with suppress(NotFound):
                async for hit in hits(query):
                    found.setdefault(hit.path, hit)
    return list(found.values())


async def _tasks(query: SearchQuery) -> AsyncIterator[SearchHit]:
    tasks = await query.installation.tasks.find(TaskFilter(prefix=query.text), "name", limit=query.limit)
    if query.id is not None:
        with suppress(NotFound):
            tasks.insert(0, await query.installation.tasks.get(query.id))
    for task in tasks:
        if not task.is_deleted:
            detail = f"version {task.version}"
            yield SearchHit("task", str(task.id), task.name, detail, f"/api/tasks/{task.id}")


async def _runs(query: SearchQuery) -> AsyncIterator[SearchHit]:
    if query.id is not None:
        run = await query.installation.store.get_run(query.id)
        detail = f"{run.task_name}, {run.state}"
        yield SearchHit("run", str(run.id), f"run {run.id}", detail, f"/api/runs/{run.id}")


async def _schedules(query: SearchQuery) -> AsyncIterator[SearchHit]:
    if query.id is not None:
        one = await query.installation.schedules.get(query.id)
        task = await query.installation.tasks.get(one.task_id)
        yield SearchHit("schedule", str(one.id), f"schedule {one.id}", task.name, f"/api/schedules/{one.id}")


async def _hosts(query: SearchQuery) -> AsyncIterator[SearchHit]:
    start = query.text.lower()
    hosts = await query.installation.hosts.find(after=start, limit=query.limit)
    with suppress(NotFound):
        hosts.insert(0, await query.installation.hosts.get(start))
    for host in hosts:
        if host.host.startswith(start):
            detail = f"{host.delay_s:g} s between requests"
            yield SearchHit("host", host.host, host.host, detail, f"/api/hosts/{quote(host.host)}")


async def _nodes(query: SearchQuery) -> AsyncIterator[SearchHit]:
    for one in await list_nodes(query.installation):
        if one.node.startswith(query.text):
            detail = count(len(one.workers), "worker")
            yield SearchHit("node", one.node, one.node, detail, f"/api/nodes/{quote(one.node)}")


async def _users(query: SearchQuery) -> AsyncIterator[SearchHit]:
    user = await query.installation.users.get_user(query.text if query.id is None else query.id)
    yield SearchHit("user", str(user.id), user.name, user.role, f"/api/users/{user.id}")


async def _tokens(query: SearchQuery) -> AsyncIterator[SearchHit]:
    if query.id is not None:
        token = await query.installation.users.get_token(query.id)
        if query.principal.owns(token.actor):
            yield SearchHit("token", str(token.id), token.name, token.role, f"/api/tokens/{token.id}")


_KINDS: tuple[tuple[Area, Callable[[SearchQuery], AsyncIterator[SearchHit]]], ...] = (
    ("tasks", _tasks),
    ("runs", _runs),
    ("schedules", _schedules),
    ("hosts", _hosts),
    ("nodes", _nodes),
    ("users", _users),
    ("tokens", _tokens),
)
