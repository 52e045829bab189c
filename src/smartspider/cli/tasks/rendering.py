"""Print tasks, versions and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.cli.terminal.output import print_json, print_line, print_message
from smartspider.cli.times import format_time
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.views.tasks import ChangeView, TaskLine, TaskSaved, VersionLine, VersionView

SHOWN_CHANGES = 20


class VersionDiff(msgspec.Struct, frozen=True):
    """Changes between two versions of a task."""

    name: str
    before: int
    after: int
    changes: list[ChangeView]


def diff_versions(old: VersionView, new: VersionView) -> VersionDiff:
    """Compare two versions."""
    from smartspider.services.tasks.spec_diff import diff_specs
    from smartspider.services.tasks.views import change_views

    changes = change_views(diff_specs(bytes(old.spec), bytes(new.spec)))
    return VersionDiff(new.name, old.version, new.version, changes)


def with_location(found: tuple[str, TaskLine | TaskSaved]) -> dict[str, Any]:
    """Return the JSON of a task and its folder or server, as `data`."""
    location, task = found
    return {**msgspec.to_builtins(task), "data": location}


def print_saved(found: tuple[str, TaskSaved]) -> None:
    """Print the first changes of a saved task."""
    for line in change_lines(found[1].changes, SHOWN_CHANGES):
        print_line(line)


def saved_message(found: tuple[str, TaskSaved]) -> str:
    """Return the warnings about a saved task, and its status."""
    location, saved = found
    lines = [f"note: {one.path}: {one.message}" for one in saved.warnings]
    return "\n".join([*lines, f"task {saved.name!r} {saved.status}: version {saved.version} ({location})"])


def print_tasks(found: Sequence[tuple[str, TaskLine]]) -> None:
    """Print tasks, each with its folder or server."""
    if not found:
        print_message("no tasks; `smartspider task apply FILE` saves one")
    for location, task in found:
        print_line(f"{task.name}  version {task.version}  {format_time(task.updated_at)}  {location}")


def print_version(version: VersionView) -> None:
    """Print the task file of a version as JSON."""
    print_json(version.spec)


def print_versions(versions: Sequence[VersionLine]) -> None:
    """Print versions, a line each."""
    from smartspider.cli.terminal.tables import cell_text

    for one in versions:
        changes = count(len(one.changes), "change") if one.version > 1 else "first version"
        note = f"  {cell_text(one.note)}" if one.note else ""
        print_line(f"{one.version:>4}  {format_time(one.created_at)}  {one.author}  {changes}{note}")


def print_diff(found: VersionDiff) -> None:
    """Print the changes between two versions."""
    for line in change_lines(found.changes):
        print_line(line)
    changes = count(len(found.changes), "change")
    print_message(f"{found.name!r} version {found.before} → version {found.after}: {changes}")


def change_lines(changes: Sequence[ChangeView], limit: int | None = None) -> list[str]:
    """Return a line for each of the first `limit` changes."""
    lines = [_change_line(change) for change in changes[:limit]]
    more = len(changes) - len(lines)
    return [*lines, f"and {more} more; `smartspider task diff` shows all"] if more else lines


def _change_line(change: ChangeView) -> str:
    from smartspider.cli.terminal.tables import cell_text, short_json

    path = cell_text(change.path) or "the task"
    match change.kind:
        case "added":
            return f"+ {path}: {short_json(change.after)}"
        case "removed":
            return f"- {path}: {short_json(change.before)}"
        case "changed":
            return f"~ {path}: {short_json(change.before)} → {short_json(change.after)}"
        case "reordered":
            return f"~ {path}: order {short_json(change.before)} → {short_json(change.after)}"
