"""Tasks, versions and what they differ in, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from smartspider.cli.output import count, print_json, say, tell
from smartspider.cli.results_rejects import in_short
from smartspider.cli.tables import cell
from smartspider.core.errors import Problem
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.services.audit import moment
from smartspider.services.spec_difference import SpecChange
from smartspider.services.tasks import Applied, Comparison, Revision

SHOWN_CHANGES = 20


def show_applied(applied: Applied, missing: Sequence[Problem], folder: Path, *, as_json: bool) -> None:
    """What came of `task apply`."""
    task = applied.task
    if as_json:
        print_json(
            {
                "task_id": str(task.id),
                "name": task.name,
                "version": task.version,
                "status": applied.status,
                "changes": [_told(change) for change in applied.changes],
                "warnings": [{"path": one.path, "message": one.message, "hint": one.hint} for one in missing],
                "data": str(folder),
            }
        )
    else:
        for line in change_lines(applied.changes, SHOWN_CHANGES):
            tell(line)
    for one in missing:
        say(f"note: {one.path}: {one.message}")
    say(f"task {task.name!r} {applied.status}: version {task.version} ({folder})")


def show_list(found: Sequence[tuple[Path, TaskRecord]], *, as_json: bool) -> None:
    """What `task list` found, and where."""
    if as_json:
        print_json(
            [
                {
                    "task_id": str(task.id),
                    "name": task.name,
                    "owner": task.owner,
                    "version": task.version,
                    "created_at": moment(task.created_at),
                    "updated_at": moment(task.updated_at),
                    "data": str(folder),
                }
                for folder, task in found
            ]
        )
        return
    for folder, task in found:
        tell(f"{task.name}  version {task.version}  {_when(task.updated_at)}  {folder}")


def show_version(task: TaskRecord, version: TaskVersion, *, as_json: bool) -> None:
    """A version: the task alone, or with who wrote it when."""
    spec = msgspec.json.decode(version.spec)
    print_json(
        _of_version(version) | {"task_id": str(task.id), "name": task.name, "spec": spec} if as_json else spec
    )


def show_history(revisions: Sequence[Revision], *, as_json: bool) -> None:
    """Versions, newest first."""
    if as_json:
        print_json(
            [
                _of_version(one.version) | {"changes": [_told(change) for change in one.changes]}
                for one in revisions
            ]
        )
        return
    for one in revisions:
        version = one.version
        what = count(len(one.changes), "change") if version.number > 1 else "first version"
        note = f"  {cell(version.note)}" if version.note else ""
        tell(f"{version.number:>4}  {_when(version.created_at)}  {version.author}  {what}{note}")


def show_comparison(name: str, comparison: Comparison, *, as_json: bool) -> None:
    """What changed between two versions."""
    before, after = comparison.before.number, comparison.after.number
    if as_json:
        changes = [_told(change) for change in comparison.changes]
        print_json({"name": name, "before": before, "after": after, "changes": changes})
        return
    for line in change_lines(comparison.changes):
        tell(line)
    say(f"{name!r} version {before} → version {after}: {count(len(comparison.changes), 'change')}")


def change_lines(changes: Sequence[SpecChange], limit: int | None = None) -> list[str]:
    """Changes, a line each; only so many of them."""
    lines = [_line(change) for change in changes[:limit]]
    more = len(changes) - len(lines)
    return [*lines, f"and {more} more; `smartspider task diff` shows all"] if more else lines


def _line(change: SpecChange) -> str:
    before, after = in_short(change.before), in_short(change.after)
    path = cell(change.path) or "the task"
    match change.kind:
        case "added":
            return f"+ {path}: {after}"
        case "removed":
            return f"- {path}: {before}"
        case "changed":
            return f"~ {path}: {before} → {after}"
        case "reordered":
            return f"~ {path}: order {before} → {after}"


def _told(change: SpecChange) -> dict[str, Any]:
    """Only what a kind of change has."""
    shown: dict[str, Any] = {"kind": change.kind, "path": change.path}
    if change.kind != "added":
        shown["before"] = change.before
    if change.kind != "removed":
        shown["after"] = change.after
    return shown


def _of_version(version: TaskVersion) -> dict[str, Any]:
    return {
        "version": version.number,
        "author": version.author,
        "created_at": moment(version.created_at),
        "note": version.note,
        "spec_hash": version.spec_hash,
    }


def _when(at: float) -> str:
    return f"{moment(at)[:19]}Z"
