"""`search TEXT`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, print_message, printed

if TYPE_CHECKING:
    from smartspider.views.search import SearchHit


def _print_hits(hits: list[SearchHit]) -> None:
    if not hits:
        print_message("no matches")
    for hit in hits:
        print_line(f"{hit.kind:<8} {hit.id:>6}  {hit.title}  {hit.detail}".rstrip())


@click.command()
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Hits per kind.")
@with_target
@printed(_print_hits)
def search(text: str, limit: int, target: Target) -> list[SearchHit]:
    """Search tasks, runs, schedules, hosts, nodes, users and tokens by name prefix or id."""
    return target.run(lambda operations: operations.search_all(text, limit=limit)).items
