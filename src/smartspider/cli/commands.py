"""The table of commands. Each is imported when it is called."""

from __future__ import annotations

import importlib

import click

from smartspider import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("smartspider.cli.crawl.crawl:demo", "Crawl the bundled demo shop and show the rows."),
    "init": ("smartspider.cli.tasks.files:init", "Write a starter task file."),
    "validate": ("smartspider.cli.tasks.files:validate", "Check a task file."),
    "schema": ("smartspider.cli.tasks.files:schema", "Print the JSON Schema of task files."),
    "dry-run": (
        "smartspider.cli.crawl.dry_run:dry_run",
        "Fetch a few pages of a task and show the rows; store nothing.",
    ),
    "crawl": ("smartspider.cli.crawl.crawl:crawl", "Crawl a task in this process; run again to resume."),
    "up": (
        "smartspider.cli.server.up:up",
        "Run a server: API, keeper (coordinator) and workers.",
    ),
    "api": ("smartspider.cli.server.roles:api", "Run only the API of a server or cluster."),
    "worker": ("smartspider.cli.server.roles:worker", "Run workers of a server or cluster."),
    "keeper": ("smartspider.cli.server.roles:keeper", "Run a keeper (coordinator) of a server or cluster."),
    "fetch": ("smartspider.cli.crawl.page:fetch", "Fetch one URL as a crawl would and show the response."),
    "extract": ("smartspider.cli.crawl.page:extract", "Try rules on one URL."),
    "suggest": (
        "smartspider.cli.crawl.suggest:suggest",
        "Detect the list on a page and write a task for it.",
    ),
    "shell": ("smartspider.cli.crawl.page:shell", "Try rules on a page interactively."),
    "why": ("smartspider.cli.runs.why:why", "Explain why a URL was or was not fetched."),
    "search": ("smartspider.cli.search:search", "Search tasks, runs, hosts and other objects by name or id."),
    "logs": ("smartspider.cli.logs:logs", "Show and follow log lines."),
    "results": ("smartspider.cli.commands:results", "Show, export and compare the rows of a run."),
    "task": ("smartspider.cli.tasks.task:task", "Manage tasks and their versions."),
    "run": ("smartspider.cli.commands:run", "Start, control, watch and delete runs."),
    "schedule": ("smartspider.cli.schedules:schedule", "Schedule runs: cron, interval or once."),
    "notification": (
        "smartspider.cli.notifications:notification",
        "Manage notifications about runs: webhooks, email, Slack.",
    ),
    "host": (
        "smartspider.cli.hosts:host",
        "Show and change the rate limits (gates) of hosts.",
    ),
    "node": ("smartspider.cli.nodes:node", "Show, tune and drain nodes and their workers."),
    "token": ("smartspider.cli.access.tokens:token", "Manage API tokens."),
    "user": ("smartspider.cli.access.users:user", "Manage users."),
    "profile": ("smartspider.cli.access.profiles:profile", "Manage connections to servers (profiles)."),
    "audit": ("smartspider.cli.audit:audit", "Show and verify the audit log."),
    "doctor": ("smartspider.cli.server.checks:doctor", "Check the installation and show disk use."),
    "move": ("smartspider.cli.server.move:move", "Migrate a data folder to a cluster."),
    "chaos": ("smartspider.cli.server.chaos:chaos", "Run fault-injection tests on a temporary cluster."),
    "fsck": ("smartspider.cli.server.checks:fsck", "Check and repair a data folder or a cluster."),
}
"""Command name → (module:attribute, one-line help). `--help` reads only this table."""

RUN: dict[str, tuple[str, str]] = {
    "start": ("smartspider.cli.runs.start:start", "Start a run of a saved task."),
    "list": ("smartspider.cli.runs.listing:list_runs", "List runs, newest first."),
    "show": ("smartspider.cli.runs.listing:show_run", "Show the counters, steps and hosts of a run."),
    "watch": ("smartspider.cli.runs.start:watch", "Follow a run until it ends."),
    "pause": ("smartspider.cli.runs.control:pause", "Pause a run."),
    "resume": ("smartspider.cli.runs.control:resume", "Resume a paused or stopped run."),
    "stop": (
        "smartspider.cli.runs.control:stop",
        "Stop a run after its requests in flight; it can be resumed.",
    ),
    "cancel": ("smartspider.cli.runs.control:cancel", "Cancel a run permanently."),
    "retry": ("smartspider.cli.runs.control:retry", "Retry the failed requests, or all requests."),
    "tune": ("smartspider.cli.runs.control:tune", "Change the settings of a run while it is running."),
    "stall": (
        "smartspider.cli.runs.control:stall",
        "Explain why a run makes no progress and suggest a fix.",
    ),
    "failures": ("smartspider.cli.runs.requests:failures", "Show failed requests."),
    "pages": ("smartspider.cli.runs.requests:pages", "Show the requests of a run and their outcomes."),
    "delete": ("smartspider.cli.runs.listing:delete", "Delete a run with its rows and logs."),
}

RESULTS: dict[str, tuple[str, str]] = {
    "show": ("smartspider.cli.results.show:show", "Show rows of a run."),
    "export": ("smartspider.cli.results.export:export", "Write all rows of a run to files."),
    "diff": ("smartspider.cli.results.diff:diff", "Compare the rows of two runs."),
    "rejects": ("smartspider.cli.results.step_log:rejects", "Show rejected items with the reason."),
    "cleaning": (
        "smartspider.cli.results.step_log:cleaning",
        "Show the cleaning log: values before and after each step.",
    ),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, name: str, table: dict[str, tuple[str, str]], help: str) -> None:  # noqa: A002 - click's word
        super().__init__(name, help=help)
        self._table = table

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return all names in the order of the table."""
        return list(self._table)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._table:
            return None
        module, _, attribute = self._table[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._table.items()])


app = LazyGroup("smartspider", COMMANDS, "Crawl websites described by one task file into clean rows.")
click.version_option(__version__, prog_name="smartspider")(app)
run = LazyGroup("run", RUN, COMMANDS["run"][1])
results = LazyGroup("results", RESULTS, COMMANDS["results"][1])
