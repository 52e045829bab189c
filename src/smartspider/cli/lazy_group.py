"""A group of commands that are imported when they are called."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click

from smartspider.cli.terminal.streams import set_verbosity

HELP_OPTIONS = ["-h", "--help"]


def _on_quiet(_ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    if value:
        set_verbosity(-1)


def _on_verbose(_ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    if value:
        set_verbosity(value)


_QUIET = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_on_quiet,
    help="Print no messages but errors.",
)
_VERBOSE = click.Option(
    ["-v", "--verbose"],
    count=True,
    expose_value=False,
    callback=_on_verbose,
    help="Print log lines to standard error; -vv also those for debugging.",
)


class CommandGroup(click.Group):
    """A group of commands; an unknown name gets the nearest known one as a hint."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and its arguments."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], names, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"there is no command {args[0]!r}{meant}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(CommandGroup):
    """A group whose commands are imported when they are called. All of them take `-h`, `-q` and `-v`."""

    def __init__(
        self,
        name: str,
        table: Mapping[str, tuple[str, str]],
        help: str,  # noqa: A002 - click's word
        *,
        sections: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(
            name,
            help=help,
            context_settings={"help_option_names": HELP_OPTIONS},
            params=[_QUIET, _VERBOSE],
        )
        self._table = table
        self._sections = sections or {"Commands": tuple(table)}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return all names in the order of the table."""
        return list(self._table)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        _add_verbosity(command)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table by section, without importing a command."""
        width = max(map(len, self._table), default=0)
        for title, names in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self._table[name][1]) for name in names])


def _add_verbosity(command: click.Command) -> None:
    """Add `-q` and `-v` to a command, or to all commands of a group."""
    if isinstance(command, LazyGroup):
        return
    if isinstance(command, click.Group):
        for each in command.commands.values():
            _add_verbosity(each)
    if _QUIET not in command.params:
        command.params += [_QUIET, _VERBOSE]
