"""`help`: the help of a command, as with `--help`."""

from __future__ import annotations

import click

from smartspider.cli.terminal.output import print_line, printed


@click.command("help", add_help_option=False)
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@printed(print_line, to_json=lambda text: {"help": text})
@click.pass_context
def help_command(ctx: click.Context, names: tuple[str, ...]) -> str:
    """Show the help of a command: `smartspider help run start`."""
    assert ctx.parent is not None  # noqa: S101 - this command belongs to a group
    shown = ctx.parent
    for name in names:
        if not isinstance(shown.command, click.Group):
            raise click.UsageError(f"{shown.command_path!r} has no commands of its own", ctx)
        _, command, _ = shown.command.resolve_command(shown, [name])
        assert command is not None  # noqa: S101 - an unknown name raises
        shown = click.Context(command, info_name=name, parent=shown)
    return shown.get_help()
