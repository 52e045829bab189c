"""Tasks, versions and what they differ in, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.cli.results.step_log import short_json
from smartspider.cli.terminal.output import count, print_json, print_line, print_message
from smartspider.cli.terminal.tables import cell_text
from smartspider.views.tasks import ChangeView, TaskLine, TaskSaved, VersionLine, VersionView

SHOWN_CHANGES = 20


class VersionDiff(msgspec.Struct, frozen=True):
    """What changed from one version of a task to another."""

    name: str
    before: int
    after: int
    changes: list[ChangeView]


def compared(old: VersionView, new: VersionView) -> VersionDiff:
    """What changed between two versions, whoever keeps them."""
    from smartspider.services.tasks.spec_diff import diff_specs
    from smartspider.services.tasks.views import change_views

    changes = change_views(diff_specs(bytes(old.spec), bytes(new.spec)))
    return VersionDiff(new.name, old.version, new.version, changes)


def show_saved(saved: TaskSaved, where: str, *, as_json: bool) -> None:
    """What came of `task apply`; `where` is a folder or a server."""
    if as_json:
        print_json({**msgspec.to_builtins(saved), "data": where})
    else:
        for line in change_lines(saved.changes, SHOWN_CHANGES):
            print_line(line)
    for one in saved.warnings:
        print_message(f"note: {one.path}: {one.message}")
    print_message(f"task {saved.name!r} {saved.status}: version {saved.version} ({where})")


def show_list(found: Sequence[tuple[str, TaskLine]], *, as_json: bool) -> None:
    """What `task list` found, and where."""
    if as_json:
        print_json([{**msgspec.to_builtins(task), "data": where} for where, task in found])
        return
    if not found:
        print_message("no task yet; `smartspider task apply FILE` keeps one")
    for where, task in found:
        print_line(f"{task.name}  version {task.version}  {when(task.updated_at)}  {where}")


def show_version(version: VersionView, *, as_json: bool) -> None:
    """A version: the task alone, or with who wrote it when."""
    print_json(version if as_json else version.spec)


def show_history(versions: Sequence[VersionLine], *, as_json: bool) -> None:
    """Versions, newest first."""
    if as_json:
        print_json(versions)
        return
    for one in versions:
        what = count(len(one.changes), "change") if one.version > 1 else "first version"
        note = f"  {cell(one.note)}" if one.note else ""
        print_line(f"{one.version:>4}  {when(one.created_at)}  {one.author}  {what}{note}")


def show_comparison(found: VersionDiff, *, as_json: bool) -> None:
    """What changed between two versions."""
    if as_json:
        print_json(found)
        return
    for line in change_lines(found.changes):
        print_line(line)
    changes = count(len(found.changes), "change")
    print_message(f"{found.name!r} version {found.before} → version {found.after}: {changes}")


def change_lines(changes: Sequence[ChangeView], limit: int | None = None) -> list[str]:
    """Changes, a line each; only so many of them."""
    lines = [_line(change) for change in changes[:limit]]
    more = len(changes) - len(lines)
    return [*lines, f"and {more} more; `smartspider task diff` shows all"] if more else lines


def format_time(at: str | None) -> str:
    """A moment to the second."""
    return f"{at[:19]}Z" if at and at.endswith("Z") else at or ""


def _line(change: ChangeView) -> str:
    path = cell_text(change.path) or "the task"
    match change.kind:
        case "added":
            return f"+ {path}: {in_short(change.after)}"
        case "removed":
            return f"- {path}: {in_short(change.before)}"
        case "changed":
            return f"~ {path}: {in_short(change.before)} → {in_short(change.after)}"
        case "reordered":
            return f"~ {path}: order {in_short(change.before)} → {in_short(change.after)}"
