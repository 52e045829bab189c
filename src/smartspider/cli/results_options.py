"""Whose rows: the options of all `results` commands."""

from __future__ import annotations

import click

RUN = click.option("--run", "run_id", default=None, metavar="RUN", help="Which run.  [default: the newest]")
TASK = click.option("--task", default=None, metavar="NAME", help="The newest run of this task.")
LIMIT = click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most."
)
LINES = click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
