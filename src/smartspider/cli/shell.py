"""`shell`: rules tried on a page, line by line."""

from __future__ import annotations

import click


@click.command()
@click.argument("url")
@click.option("--ignore-robots", is_flag=True, help="Fetch although robots.txt forbids it.")
@click.option("--json", "as_json", is_flag=True, help="Answer each rule with one line of JSON.")
def shell(url: str, *, ignore_robots: bool, as_json: bool) -> None:
    """Fetch a URL and try rules on it interactively; a task comes out at the end."""
    from smartspider.cli.shell_session import Session

    Session(obey_robots=not ignore_robots, as_json=as_json).run(url)
