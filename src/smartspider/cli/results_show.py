"""`results show`: rows for a person's eyes, or as JSON lines."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many rows at most.")
@click.option("--fields", default=None, metavar="A,B", help="Only these fields, in this order.")
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Only rows with this value; may be given more than once, then all must hold.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def show(
    run_id: int | None,
    data: Path | None,
    limit: int,
    fields: str | None,
    where: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Show rows of a run, as far as it has come."""
    from smartspider.cli.output import count, say, tell_json
    from smartspider.cli.tables import show_rows
    from smartspider.services.columns import columns_of
    from smartspider.services.rows import find_rows, parse_fields, parse_wanted
    from smartspider.services.runs import find_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop
    from smartspider.wiring.plans import plan_of

    with open_folder(find_folder(data)) as folder:
        run = run_loop(find_run(folder.store, run_id))
        known = [column.name for column in columns_of(plan_of(run))]
        names = known if fields is None else parse_fields(fields, known)
        rows = run_loop(find_rows(folder.store, run.id, limit, parse_wanted(where, known)))
    if as_json:
        for row in rows:
            tell_json({name: row.get(name) for name in names} if fields is not None else row)
        return
    if rows:
        show_rows(rows, names)
    shown = count(len(rows), "row")
    say(f"{shown} {'as asked for, ' if where else ''}of {run.counters.items} in run {run.id}")
