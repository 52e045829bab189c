"""`results diff`: compare two runs of a task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.results.options import TASK
from smartspider.cli.target import PAGE, Target, local_installation, with_target
from smartspider.cli.terminal.output import json_option, print_json_line, print_line, print_message

if TYPE_CHECKING:
    from smartspider.installation.installation import Installation
    from smartspider.operations.table import AllOperations
    from smartspider.views.results import ChangeCounts, ChangeKind, RowChange

SHOWN = 100
MARKS = {"new": "+", "changed": "~", "gone": "-"}


class RunDiff(msgspec.Struct, frozen=True):
    """Changes between two runs; the iterator can be read once."""

    before: str
    after: str
    key: str
    counts: ChangeCounts
    changes: Iterable[RowChange]
    fields: Sequence[str]
    """Key fields of rows; may be empty."""


class DiffOptions(msgspec.Struct, frozen=True):
    """The two runs, the key fields and the limit of a diff."""

    run_a: str | None
    run_b: str | None
    task: str | None
    key: str
    kind: ChangeKind | None
    limit: int | None


@click.command()
@click.argument("run_a", required=False)
@click.argument("run_b", required=False)
@TASK
@click.option(
    "--key", default="", metavar="A,B", help="Key fields that identify a row.  [default: the task's]"
)
@click.option("--kind", type=click.Choice(list(MARKS)), default=None, help="List only changes of this kind.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=None,
    help="Maximum number of changes listed."
    f"  [default: {SHOWN}; with --json all, or the first {PAGE} from a server]",
)
@with_target
@json_option("Print one JSON object per line; the last one contains the counts.")
def diff(
    run_a: str | None, run_b: str | None, target: Target, *, as_json: bool, limit: int | None, **choice: Any
) -> None:
    """Compare two runs: new (+), changed (~) and missing (-) rows.

    By default the newest run is compared with the completed run before it.
    """
    options = DiffOptions(run_a, run_b, limit=limit if as_json or limit is not None else SHOWN, **choice)

    async def compare(operations: AllOperations) -> None:
        installation = local_installation(operations)
        runs = await _find_runs(operations, options)
        is_local = installation is not None
        opened = (
            _compare_local(installation, runs, options)
            if installation is not None
            else _compare_remote(operations, runs, options)
        )
        async with opened as found:
            if as_json:
                _print_json_lines(found)
            else:
                _print_diff(found, options, is_local=is_local)

    target.run_at(run_a, compare, task=choice["task"])


async def _find_runs(operations: AllOperations, options: DiffOptions) -> tuple[str | None, str]:
    """Return the ids of the runs, the earlier first; None means the completed run before the other."""
    from smartspider.cli.runs.lookup import find_run

    if options.run_a is None:
        after = await find_run(operations, None, options.task)
        return None, str(after.run_id)
    before = await operations.get_run(options.run_a)
    if options.run_b is not None:
        return options.run_a, await _second_run(operations, options.run_a, options.run_b)
    return options.run_a, str((await find_run(operations, None, before.task_id)).run_id)


async def _second_run(operations: AllOperations, first: str, second: str) -> str:
    from smartspider.core.errors import NotFound

    try:
        return str((await operations.get_run(second)).run_id)
    except NotFound as error:
        if local_installation(operations) is None:
            raise
        raise NotFound(
            f"there is no run {second} in the data folder of run {first}",
            hint="compare two runs of one task; `smartspider run list` shows the folder of each",
        ) from error


@asynccontextmanager
async def _compare_local(
    installation: Installation, runs: tuple[str | None, str], options: DiffOptions
) -> AsyncIterator[RunDiff]:
    """Compare in the store, in constant memory."""
    from smartspider.services.plans import run_plan
    from smartspider.services.results.diff import diff_runs, key_fields, previous_run

    earlier, later = runs
    store = installation.store
    after = await store.get_run(int(later))
    before = await previous_run(store, after) if earlier is None else await store.get_run(int(earlier))
    plan = run_plan(after)
    fields = key_fields(plan, [name for part in options.key.split(",") if (name := part.strip())])
    async with diff_runs(store, before, after, plan, fields) as found:
        changes = found.changes(options.limit, kind=options.kind)
        yield RunDiff(str(before.id), str(after.id), found.key, found.counts, changes, fields)


@asynccontextmanager
async def _compare_remote(
    operations: AllOperations, runs: tuple[str | None, str], options: DiffOptions
) -> AsyncIterator[RunDiff]:
    earlier, later = runs
    limit = PAGE if options.limit is None else options.limit
    found = await operations.compare_results(
        run_id=later, with_=earlier, key=options.key, kind=options.kind, limit=max(1, min(limit, PAGE))
    )
    fields = [] if found.key in ("page URL", "content") else found.key.split(", ")
    yield RunDiff(found.before, found.after, found.key, found.counts, found.changes[:limit], fields)
    if found.has_more and limit >= PAGE:
        print_message(
            f"note: a server returns the first {PAGE} changes;"
            " `results export --only-changes` exports all changed rows"
        )


def _print_json_lines(found: RunDiff) -> None:
    for change in found.changes:
        print_json_line(change)
    runs = {"before": found.before, "after": found.after, "key": found.key}
    print_json_line({"summary": {**runs, **msgspec.structs.asdict(found.counts)}})


def _print_diff(found: RunDiff, options: DiffOptions, *, is_local: bool) -> None:
    counts = found.counts
    listed = {"new": counts.new, "changed": counts.changed, "gone": counts.gone}
    for change in found.changes:
        print_line(_change_line(change, found.fields))
    more = (listed[options.kind] if options.kind else sum(listed.values())) - (options.limit or 0)
    if more > 0:
        print_message(f"and {more} more; --limit shows more of them{', --json all' if is_local else ''}")
    text = f"{counts.new} new, {counts.changed} changed, {counts.gone} gone, {counts.unchanged} unchanged"
    if counts.unseen:
        text += f", {counts.unseen} unknown (pages not fetched in the later run, or skipped as known)"
    print_line(f"run {found.before} → run {found.after}, rows matched by {found.key}: {text}")


def _change_line(change: RowChange, fields: Sequence[str]) -> str:
    """Return a row in one line: its key, then its values or what changed in them."""
    from smartspider.cli.terminal.tables import cell_text

    def pairs(values: dict[str, Any]) -> str:
        return ", ".join(f"{name}: {cell_text(value)}" for name, value in values.items())

    name = pairs({field: change.row.get(field) for field in fields}) if fields else change.url
    if change.kind == "changed":
        edits = change.edits
        rest = ", ".join(
            f"{edit.field}: {cell_text(edit.before)} → {cell_text(edit.after)}" for edit in edits
        )
    else:
        rest = pairs({field: value for field, value in change.row.items() if field not in fields})
    return f"{MARKS[change.kind]} {name}  {rest}".rstrip()
