"""`why`: what happened to a URL."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from smartspider.interfaces.store import UrlRecord
    from smartspider.services.explain import Explanation


@click.command()
@click.argument("url")
@click.option("--run", "run_id", type=int, default=None, help="Which run.  [default: the newest]")
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="DIR", help="Data folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def why(url: str, run_id: int | None, data: Path | None, *, as_json: bool) -> None:
    """Explain why a URL was or was not fetched."""
    from smartspider.cli.output import print_json
    from smartspider.wiring.explaining import explain_url
    from smartspider.wiring.folder import find_folder, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(find_folder(data)) as folder:
        explanation = run_loop(explain_url(folder, url, run_id))
    if as_json:
        print_json(explanation)
    else:
        _show(explanation)


def _show(explanation: Explanation) -> None:
    from smartspider.cli.output import tell

    tell(explanation.verdict)
    tell(f"  run          {explanation.run_id}")
    tell(f"  url          {explanation.url}")
    if explanation.canonical != explanation.url:
        tell(f"  canonical    {explanation.canonical}")
    tell(f"  fingerprint  {explanation.fingerprint}")
    record = explanation.record
    if record is None:
        return
    tell(f"  found        {_moment(record.found_at)} {_source(record)}")
    tell(f"  page type    {record.page}, depth {record.depth}, priority {record.priority}")
    if record.closed_at is not None:
        tell(f"  closed       {_moment(record.closed_at)} as {record.state}")
    if record.target is not None:
        tell(f"  led to       {record.target}")
    if record.returns:
        tell(f"  came back    {record.returns} times because its worker was lost")
    for failure in record.failures:
        tell(f"  failed       {_moment(failure.at)} {failure.reason} after {failure.elapsed_s:.2f} s")


def _source(record: UrlRecord) -> str:
    if record.parent is not None:
        return f"on {record.parent}"
    return "by `sitemaps` of the task" if record.page.startswith("@") else "on the task (an entry URL)"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
