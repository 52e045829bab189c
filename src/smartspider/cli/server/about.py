"""`about`: the version and the capabilities of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.views.server import AboutView


def _print_about(about: AboutView) -> None:
    print_line(f"version       {about.version}")
    print_line(f"capabilities  {', '.join(about.capabilities)}")


@click.command()
@with_target
@printed(_print_about)
def about(target: Target) -> AboutView:
    """Show the version and the capabilities of a server or of this installation."""
    return target.run(lambda operations: operations.get_about())
