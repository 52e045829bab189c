"""`results diff`: what changed from one run of a task to another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from smartspider.cli.place import PAGE, Place, placed
from smartspider.cli.results_options import TASK

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.client import Client
    from smartspider.views.results import ChangeCounts, RowChange
    from smartspider.wiring.office.local import LocalOffice

SHOWN = 100
MARKS = {"new": "+", "changed": "~", "gone": "-"}


class Found(msgspec.Struct, frozen=True):
    """What changed between two runs; the changes are read once."""

    before: str
    after: str
    key: str
    counts: ChangeCounts
    changes: Iterable[RowChange]
    fields: Sequence[str]
    """That rows are recognised by; may be none."""


class Choice(msgspec.Struct, frozen=True):
    """Which runs, recognised by what, and how many changes at most."""

    run_a: str | None
    run_b: str | None
    task: str | None
    key: str
    limit: int | None


@click.command()
@click.argument("run_a", required=False)
@click.argument("run_b", required=False)
@TASK
@click.option(
    "--key", default="", metavar="A,B", help="Fields that rows are recognised by.  [default: the task's]"
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=None,
    help=f"List so many at most.  [default: {SHOWN}; with --json all, or the {PAGE} that a server tells]",
)
@placed
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line, the last with the counts."
)
def diff(
    run_a: str | None, run_b: str | None, place: Place, *, as_json: bool, limit: int | None, **choice: Any
) -> None:
    """Show what changed from run RUN_A to run RUN_B: rows that are new (+), changed (~) and gone (-).

    By default the newest run is compared with the completed one before it.
    """
    from smartspider.wiring.office.local import LocalOffice

    asked = Choice(run_a, run_b, limit=limit if as_json or limit is not None else SHOWN, **choice)

    async def compare(office: Office) -> None:
        here = isinstance(office, LocalOffice)
        found = _in_folder(office, asked) if isinstance(office, LocalOffice) else _at_server(office, asked)
        async with found as diff_runs:
            if as_json:
                _print_lines(diff_runs)
            else:
                _show(diff_runs, SHOWN if limit is None else limit, is_local=here)

    place.do(compare, task=choice["task"])


async def _runs(office: Office, asked: Choice) -> tuple[str | None, str]:
    """The ids of the runs to compare, the earlier one first; None: the completed one before the other."""
    from smartspider.cli.runs import chosen_run

    if asked.run_a is None:
        after = await chosen_run(office, None, asked.task)
        return None, str(after.run_id)
    before = await office.get_run(asked.run_a)
    if asked.run_b is not None:
        return asked.run_a, str((await office.get_run(asked.run_b)).run_id)
    return asked.run_a, str((await chosen_run(office, None, before.task_id)).run_id)


@asynccontextmanager
async def _in_folder(office: LocalOffice, asked: Choice) -> AsyncIterator[Found]:
    """However many changes there are, memory stays the same."""
    from smartspider.services.results.diff import diff_runs, key_fields, previous_run
    from smartspider.services.runs.plans import plan_of

    earlier, later = await _runs(office, asked)
    store = office.installation.store
    after = await store.get_run(int(later))
    before = await previous_run(store, after) if earlier is None else await store.get_run(int(earlier))
    plan = plan_of(after)
    fields = key_fields(plan, [name for part in asked.key.split(",") if (name := part.strip())])
    async with diff_runs(store, before, after, plan, fields) as found:
        changes = found.changes(asked.limit)
        yield Found(str(before.id), str(after.id), found.key, found.counts, changes, fields)


@asynccontextmanager
async def _at_server(client: Client, asked: Choice) -> AsyncIterator[Found]:
    from smartspider.cli.output import say

    earlier, later = await _runs(client, asked)
    limit = PAGE if asked.limit is None else asked.limit
    found = await client.compare_results(
        run_id=later, with_=earlier, key=asked.key, limit=max(1, min(limit, PAGE))
    )
    fields = [] if found.key in ("page URL", "content") else found.key.split(", ")
    yield Found(found.before, found.after, found.key, found.counts, found.changes[:limit], fields)
    if found.has_more and limit >= PAGE:
        say(f"note: a server tells the first {PAGE} changes; `results export --only-changes` has all rows")


def _print_lines(found: Found) -> None:
    from smartspider.cli.output import tell_json

    for change in found.changes:
        tell_json(change)
    runs = {"before": found.before, "after": found.after, "key": found.key}
    tell_json({"summary": {**runs, **msgspec.structs.asdict(found.counts)}})


def _show(found: Found, limit: int, *, is_local: bool) -> None:
    from smartspider.cli.output import say, tell

    counts = found.counts
    for change in found.changes:
        tell(_line(change, found.fields))
    more = counts.new + counts.changed + counts.gone - limit
    if more > 0:
        say(f"and {more} more; --limit shows more of them{', --json all' if is_local else ''}")
    told = f"{counts.new} new, {counts.changed} changed, {counts.gone} gone, {counts.unchanged} unchanged"
    if counts.unseen:
        told += f", {counts.unseen} unknown (not fetched again, or left out as known)"
    tell(f"run {found.before} → run {found.after}, rows recognised by {found.key}: {told}")


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
