"""`results rejects`: the items that were not kept, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def rejects(run_id: int | None, data: Path | None, limit: int, *, as_json: bool) -> None:
    """Show items of a run that were not kept, with the reason, the step and the value."""
    from smartspider.cli.output import count, say, tell, tell_json
    from smartspider.services import notes
    from smartspider.services.runs import find_run
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    async def look() -> None:
        run = await find_run(folder.store, run_id)
        async for reject in notes.rejects(folder.store, run.id, limit):
            if as_json:
                tell_json(reject)
                continue
            value = f"{reject['field']}={in_short(reject['value'])}" if reject["field"] else ""
            tell("  ".join(filter(None, (reject["reason"], value, reject["step"], reject["url"]))))
        say(f"run {run.id} rejected {count(run.counters.rejected, 'item')}")

    with open_folder(find_folder(data)) as folder:
        run_loop(look())


def in_short(value: Any) -> str:
    """The beginning of a value as JSON, which tells the text `1` from the number."""
    from smartspider.cli.tables import cell
    from smartspider.sinks.cells import json_text

    return cell(json_text(value))
