"""The table of commands. Each is imported when it is called."""

from __future__ import annotations

import importlib

import click

from smartspider import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("smartspider.cli.demo:demo", "Crawl the bundled demo shop and show what comes out."),
    "init": ("smartspider.cli.tasks:init", "Write a task file to start from."),
    "validate": ("smartspider.cli.tasks:validate", "Check a task file."),
    "schema": ("smartspider.cli.tasks:schema", "Print the JSON Schema of task files."),
    "dry-run": ("smartspider.cli.dry_run:dry_run", "Fetch a few pages of a task and show what comes out."),
    "crawl": ("smartspider.cli.crawl:crawl", "Crawl a task here and now; run again to resume."),
    "up": ("smartspider.cli.up:up", "Run a server here: API, keeper and workers."),
    "api": ("smartspider.cli.roles:api", "Run the API of a server or a cluster alone."),
    "worker": ("smartspider.cli.roles:worker", "Run workers of a server or a cluster."),
    "keeper": ("smartspider.cli.roles:keeper", "Run a keeper of a server or a cluster."),
    "fetch": ("smartspider.cli.fetch:fetch", "Fetch one URL as a crawl would, and show the answer."),
    "extract": ("smartspider.cli.extract:extract", "Try rules on one URL."),
    "suggest": ("smartspider.cli.suggest:suggest", "Find the list of a page and write a task for it."),
    "shell": ("smartspider.cli.shell:shell", "Try rules on a page, line by line."),
    "why": ("smartspider.cli.why:why", "Explain why a URL was or was not fetched."),
    "logs": ("smartspider.cli.logs:logs", "Show log lines, and follow them."),
    "results": ("smartspider.cli.results:results", "Show, export and compare the rows of a run."),
    "task": ("smartspider.cli.task:task", "Keep tasks with all their versions."),
    "run": ("smartspider.cli.run:run", "Start, steer, watch and delete runs."),
    "schedule": ("smartspider.cli.schedule:schedule", "Start runs by themselves."),
    "notice": ("smartspider.cli.notice:notice", "Tell people and programs what becomes of runs."),
    "host": ("smartspider.cli.host:host", "See the gates of hosts, and hold, resume or slow them."),
    "node": ("smartspider.cli.node:node", "See machines and their workers, and steer those."),
    "token": ("smartspider.cli.token:token", "Keep the tokens that programs come with."),
    "user": ("smartspider.cli.user:user", "Keep the users who sign in."),
    "profile": ("smartspider.cli.profile:profile", "Keep servers by name, for these commands."),
    "audit": ("smartspider.cli.audit:audit", "Read the audit, and check that nobody changed it."),
    "doctor": ("smartspider.cli.doctor:doctor", "Check the installation and show what takes space."),
    "move": ("smartspider.cli.move:move", "Take a data folder with all that is in it to a cluster."),
    "chaos": ("smartspider.cli.chaos:chaos", "Break a throw-away cluster in every way, and count."),
    "fsck": ("smartspider.cli.fsck:fsck", "Check a data folder or a cluster, and repair it."),
}
"""Name → where it is, and one line about it. `--help` reads only this table."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, name: str, table: dict[str, tuple[str, str]], help: str) -> None:  # noqa: A002 - click's word
        super().__init__(name, help=help)
        self._table = table

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(self._table)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._table.items()])


app = LazyGroup("smartspider", COMMANDS, "Describe what you want from web sites in one task; get clean rows.")
click.version_option(__version__, prog_name="smartspider")(app)
