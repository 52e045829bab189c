"""`results cleaning`: what steps made of values."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--field", default=None, metavar="NAME", help="Only this field.")
@click.option(
    "--step", default=None, metavar="NAME", help="Only this step: `number`, or `pipeline[2] number`."
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def cleaning(
    run_id: int | None,
    data: Path | None,
    field: str | None,
    step: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """Show the cleaning log of a run: each value before and after each step (`cleaning_log` in the task)."""
    from smartspider.cli.output import count, say, tell, tell_json
    from smartspider.cli.results_rejects import in_short
    from smartspider.services import notes
    from smartspider.services.runs import find_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    async def look() -> None:
        run = await find_run(folder.store, run_id)
        found = 0
        async for change in notes.changes(folder.store, run.id, limit, field=field, step=step):
            found += 1
            if as_json:
                tell_json(change)
                continue
            what = f"{change['field']}: {in_short(change['before'])} → {in_short(change['after'])}"
            tell(f"{what}  {change['step']}  item {change['item']} of {change['url']}")
        say(f"{count(found, 'change')} of run {run.id}")
        if not found and field is None and step is None:
            say('note: the log is kept where the task says "cleaning_log": true')

    with open_folder(find_folder(data)) as folder:
        run_loop(look())
