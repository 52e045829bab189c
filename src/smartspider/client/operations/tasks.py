"""Tasks and their versions."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any, Literal, overload

import msgspec

from smartspider.client.connection import new_key, place
from smartspider.client.operations.wired import Wired
from smartspider.views.listed import Listed
from smartspider.views.preview import DryRun
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView

TASKS = "/api/tasks"

TaskText = Mapping[str, Any] | str | bytes | msgspec.Raw
"""A task: its keys and values, or the text of a task file (JSON or YAML)."""


class TaskOperations(Wired):
    """Tasks: task files with all their versions. A task is named by its id or its name."""

    @overload
    async def create_task(
        self,
        task: TaskText,
        *,
        dry_run: Literal[False] = False,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> TaskSaved: ...
    @overload
    async def create_task(
        self, task: TaskText, *, dry_run: Literal[True], preview: bool = False, pages: int = 3
    ) -> DryRun: ...
    async def create_task(
        self,
        task: TaskText,
        *,
        dry_run: bool = False,
        preview: bool = False,
        pages: int = 3,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> TaskSaved | DryRun:
        """Keep a new task. With `dry_run` it is only checked, and with `preview` so many pages are read."""
        params = {"dry_run": dry_run, "preview": preview, "pages": pages, "note": note}
        sent, kind = as_sent(task)
        answer = await self.connection.request(
            "POST",
            TASKS,
            params=params,
            body=sent,
            headers={"Content-Type": kind, "Idempotency-Key": idempotency_key or new_key()},
        )
        if dry_run:
            return self.connection.read(answer, DryRun)
        return self.connection.read(answer, TaskSaved)

    async def list_tasks(
        self, *, name: str = "", limit: int = 100, cursor: str | None = None
    ) -> Listed[TaskLine]:
        """Tasks in the order they were created; with `name`, those whose names begin so."""
        params = {"name": name, "limit": limit, "cursor": cursor}
        return await self.connection.get(TASKS, Listed[TaskLine], params)

    async def get_task(self, task_id: str) -> TaskView:
        """The newest version of a task, and its newest run."""
        return await self.connection.get(place(f"{TASKS}/", task_id), TaskView)

    async def change_task(
        self, task_id: str, task: TaskText, *, note: str = "", if_match: int | str | None = None
    ) -> TaskSaved:
        """A new version, or the old one when nothing changed. `if_match` is the version it is meant for."""
        sent, kind = as_sent(task)
        answer = await self.connection.request(
            "PUT",
            place(f"{TASKS}/", task_id),
            params={"note": note},
            body=sent,
            headers={"Content-Type": kind, **_match(if_match)},
        )
        return self.connection.read(answer, TaskSaved)

    async def delete_task(self, task_id: str, *, if_match: int | str | None = None) -> None:
        """Delete a task; its runs, their rows and its versions stay."""
        await self.connection.request("DELETE", place(f"{TASKS}/", task_id), headers=_match(if_match))

    async def list_task_versions(
        self, task_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> Listed[VersionLine]:
        """Who wrote each version, when, why, and what changed; newest first."""
        path = place(f"{TASKS}/", task_id, "/versions")
        return await self.connection.get(path, Listed[VersionLine], {"limit": limit, "cursor": cursor})

    async def get_task_version(self, task_id: str, number: int) -> VersionView:
        """One version, with what it changed and the task as it was."""
        return await self.connection.get(place(f"{TASKS}/", task_id, "/versions/", str(number)), VersionView)


def as_sent(task: TaskText) -> tuple[bytes, str]:
    """A task as bytes, and what kind of text that is."""
    if isinstance(task, Mapping):
        return msgspec.json.encode(dict(task)), "application/json"
    text = task.encode() if isinstance(task, str) else bytes(task)
    is_json = text.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"["))
    return text, "application/json" if is_json else "application/yaml"


def _match(version: int | str | None) -> dict[str, str]:
    if version is None:
        return {}
    return {"If-Match": f'"{version}"' if isinstance(version, int) else version}
