"""Answers as a principal may read them: the secrets of a task are shown to its owner and to admins only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from smartspider.core.access import Area, Principal
from smartspider.core.errors import NotFound
from smartspider.core.redaction.masking import mask_view
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_id
from smartspider.services.tasks.tasks import find_task

T = TypeVar("T")

MAX_RUNS = 20
"""The owners of more runs are not looked up; then everything is masked."""
MASKED_AREAS: frozenset[Area] = frozenset({"tasks", "runs", "results", "logs", "hosts"})
"""Areas whose answers may contain URLs, headers or bodies of tasks."""


def sees_secrets(principal: Principal, owner: str) -> bool:
    """Return whether a principal may see the secrets of a task: whoever may change it."""
    return principal.may("tasks", "write") and principal.owns(owner)


async def sees_secrets_of(
    principal: Principal, installation: Installation, task_id: str | None, *runs: str | None
) -> bool:
    """Return whether a principal may see the secrets of a task and of the tasks of runs; if none is named,
    of all tasks.
    """
    if sees_secrets(principal, ""):  # an admin
        return True
    named = {run for run in runs if run is not None}
    if len(named) > MAX_RUNS:
        return False
    try:
        tasks = set() if task_id is None else {task_id}
        tasks |= {str((await installation.store.get_run(parse_id(run, "run"))).task_id) for run in named}
        owners = {(await find_task(installation, task, or_deleted=True)).owner for task in tasks}
    except NotFound:
        return False
    return bool(owners) and all(sees_secrets(principal, owner) for owner in owners)


async def shown_to(
    principal: Principal, installation: Installation, arguments: Mapping[str, Any], answer: T
) -> T:
    """Return an answer with the secrets of tasks masked, unless the principal may see those of all tasks that
    it is about. The arguments of the call and the answer name them, or runs of them.
    """
    runs = (arguments.get("run_id"), *_runs_in(answer))
    if await sees_secrets_of(principal, installation, arguments.get("task_id"), *runs):
        return answer
    return mask_view(answer)


def _runs_in(answer: Any) -> list[str | None]:
    """Return the runs that an answer, or the elements of a list, are about."""
    elements = getattr(answer, "items", None)
    return [getattr(each, "run_id", None) for each in (elements if isinstance(elements, list) else [answer])]
