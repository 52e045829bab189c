"""`results diff`: what changed from one run of a task to another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from smartspider.core.runs import Run
    from smartspider.interfaces.store import Store
    from smartspider.services.difference import Difference, RowChange

SHOWN = 100
MARKS = {"new": "+", "changed": "~", "gone": "-"}


@click.command()
@click.argument("run_a", type=int, required=False)
@click.argument("run_b", type=int, required=False)
@click.option(
    "--key", default="", metavar="A,B", help="Fields that rows are recognised by.  [default: the task's]"
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=None,
    help=f"List so many at most.  [default: {SHOWN}, with --json all]",
)
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line, the last with the counts."
)
def diff(
    run_a: int | None, run_b: int | None, key: str, limit: int | None, data: Path | None, *, as_json: bool
) -> None:
    """Show what changed from run RUN_A to run RUN_B: rows that are new (+), changed (~) and gone (-).

    By default the newest run is compared with the completed one before it.
    """
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    fields = tuple(name for name in (part.strip() for part in key.split(",")) if name)
    with open_folder(find_folder(data)) as folder:
        run_loop(_diff(folder.store, (run_a, run_b), fields, limit, as_json=as_json))


async def _diff(
    store: Store,
    runs: tuple[int | None, int | None],
    fields: Sequence[str],
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    from smartspider.services.difference import difference, key_fields
    from smartspider.wiring.plans import plan_of

    before, after = await _runs(store, *runs)
    plan = plan_of(after)
    fields = key_fields(plan, fields)
    async with difference(store, before, after, plan, fields) as found:
        if as_json:
            _print_lines(found, limit)
        else:
            _show(found, fields, SHOWN if limit is None else limit)


async def _runs(store: Store, run_a: int | None, run_b: int | None) -> tuple[Run, Run]:
    """The runs to compare, the earlier one first."""
    from smartspider.services.difference import previous_run
    from smartspider.services.runs import find_run

    if run_a is None:
        after = await find_run(store, None)
        return await previous_run(store, after), after
    before = await store.get_run(run_a)
    if run_b is not None:
        return before, await store.get_run(run_b)
    return before, (await store.find_runs(before.task_name))[0]


def _print_lines(found: Difference, limit: int | None) -> None:
    import msgspec

    from smartspider.cli.output import tell_json

    for change in found.changes(limit):
        tell_json(change)
    runs = {"before": str(found.before.id), "after": str(found.after.id), "key": found.key}
    tell_json({"summary": {**runs, **msgspec.structs.asdict(found.counts)}})


def _show(found: Difference, fields: Sequence[str], limit: int) -> None:
    from smartspider.cli.output import say, tell

    counts = found.counts
    for change in found.changes(limit):
        tell(_line(change, fields))
    more = counts.new + counts.changed + counts.gone - limit
    if more > 0:
        say(f"and {more} more; --limit shows more of them, --json all")
    told = f"{counts.new} new, {counts.changed} changed, {counts.gone} gone, {counts.unchanged} unchanged"
    if counts.unseen:
        told += f", {counts.unseen} unknown (not fetched again, or left out as known)"
    tell(f"run {found.before.id} → run {found.after.id}, rows recognised by {found.key}: {told}")


def _line(change: RowChange, fields: Sequence[str]) -> str:
    """One row in one line: what it is recognised by, then its values or what became of them."""
    from smartspider.cli.tables import cell

    def pairs(values: dict[str, Any]) -> str:
        return ", ".join(f"{name}: {cell(value)}" for name, value in values.items())

    name = pairs({field: change.row.get(field) for field in fields}) if fields else change.url
    if change.kind == "changed":
        rest = ", ".join(f"{edit.field}: {cell(edit.before)} → {cell(edit.after)}" for edit in change.edits)
    else:
        rest = pairs({field: value for field, value in change.row.items() if field not in fields})
    return f"{MARKS[change.kind]} {name}  {rest}".rstrip()
