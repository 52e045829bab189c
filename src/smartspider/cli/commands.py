"""The table of commands. Each is imported when it is called."""

from __future__ import annotations

import click

from smartspider import __version__
from smartspider.cli.lazy_group import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("smartspider.cli.crawl.crawl:demo", "Crawl the bundled demo shop and show the rows."),
    "init": ("smartspider.cli.tasks.files:init", "Write a starter task file."),
    "suggest": (
        "smartspider.cli.crawl.suggest:suggest",
        "Detect the list on a page and write a task for it.",
    ),
    "crawl": (
        "smartspider.cli.crawl.crawl:crawl",
        "Crawl a task or a URL in this process; run again to resume.",
    ),
    "validate": ("smartspider.cli.tasks.files:validate", "Check a task file."),
    "schema": ("smartspider.cli.tasks.files:schema", "Print the JSON Schema of task files."),
    "dry-run": (
        "smartspider.cli.crawl.dry_run:dry_run",
        "Fetch a few pages of a task and show the rows; store nothing.",
    ),
    "fetch": ("smartspider.cli.crawl.page:fetch", "Fetch one URL as a crawl would and show the response."),
    "extract": ("smartspider.cli.crawl.page:extract", "Try rules on one URL."),
    "shell": ("smartspider.cli.crawl.page:shell", "Try rules on a page interactively."),
    "overview": ("smartspider.cli.overview:overview", "Show what runs and what needs attention."),
    "run": ("smartspider.cli.commands:run", "Start, control, watch and delete runs."),
    "results": ("smartspider.cli.commands:results", "Show, export and compare the rows of a run."),
    "logs": ("smartspider.cli.logs:logs", "Show and follow log lines."),
    "why": ("smartspider.cli.runs.why:why", "Explain why a URL was or was not fetched."),
    "up": ("smartspider.cli.server.up:up", "Run a server: API, keeper (coordinator) and workers."),
    "api": ("smartspider.cli.server.roles:api", "Run only the API of a server or cluster."),
    "worker": ("smartspider.cli.server.roles:worker", "Run workers of a server or cluster."),
    "keeper": ("smartspider.cli.server.roles:keeper", "Run a keeper (coordinator) of a server or cluster."),
    "node": ("smartspider.cli.nodes:node", "Show, tune and drain nodes and their workers."),
    "host": ("smartspider.cli.hosts:host", "Show and change the rate limits (gates) of hosts."),
    "task": ("smartspider.cli.tasks.task:task", "Manage tasks and their versions."),
    "schedule": ("smartspider.cli.schedules:schedule", "Schedule runs: cron, interval or once."),
    "notification": (
        "smartspider.cli.notifications:notification",
        "Manage notifications about runs: webhooks, email, Slack.",
    ),
    "search": ("smartspider.cli.search:search", "Search tasks, runs, hosts and other objects by name or id."),
    "profile": ("smartspider.cli.access.profiles:profile", "Manage connections to servers (profiles)."),
    "token": ("smartspider.cli.access.tokens:token", "Manage API tokens."),
    "user": ("smartspider.cli.access.users:user", "Manage users."),
    "secret": ("smartspider.cli.identities.vault:secret", "Set, list and delete named secrets of tasks."),
    "vault": (
        "smartspider.cli.identities.vault:vault",
        "Check the vault of secrets, and rotate its master key.",
    ),
    "cookie": ("smartspider.cli.identities.cookies:cookie", "Manage cookies of logins."),
    "proxy": ("smartspider.cli.identities.proxies:proxy", "Manage pools of proxies."),
    "audit": ("smartspider.cli.audit:audit", "Show and verify the audit log."),
    "about": ("smartspider.cli.server.about:about", "Show the version and the capabilities of a server."),
    "doctor": ("smartspider.cli.server.checks:doctor", "Check the installation and show disk use."),
    "fsck": ("smartspider.cli.server.checks:fsck", "Check and repair a data folder or a cluster."),
    "move": ("smartspider.cli.server.move:move", "Migrate a data folder to a cluster."),
    "chaos": ("smartspider.cli.server.chaos:chaos", "Run fault-injection tests on a temporary cluster."),
    "completion": ("smartspider.cli.help:completion", "Print or install shell completion."),
    "help": ("smartspider.cli.help:help_command", "Show the help of a command."),
}
"""Command name → (module:attribute, one-line help). `--help` reads only this table."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Start here": ("demo", "init", "suggest", "crawl"),
    "Tasks and pages": ("validate", "schema", "dry-run", "fetch", "extract", "shell"),
    "Runs and rows": ("overview", "run", "results", "logs", "why"),
    "Server": ("up", "api", "worker", "keeper", "node", "host"),
    "Saved on a server": ("task", "schedule", "notification", "search"),
    "Access": ("profile", "token", "user", "secret", "vault", "cookie", "proxy", "audit"),
    "Maintenance": ("about", "doctor", "fsck", "move", "chaos", "completion", "help"),
}
"""Section of the help → its commands."""

RUN: dict[str, tuple[str, str]] = {
    "start": ("smartspider.cli.runs.start:start", "Start a run of a saved task."),
    "demo": ("smartspider.cli.runs.start:demo", "Start a task of the demo shop of a server."),
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
    "series": ("smartspider.cli.runs.series:series", "Show what a run did over time."),
    "problems": (
        "smartspider.cli.runs.problems:problems",
        "Show what went wrong in a run, by cause and host, and what to try.",
    ),
    "failures": ("smartspider.cli.runs.requests:failures", "Show failed requests."),
    "pages": ("smartspider.cli.runs.requests:pages", "Show the requests of a run and their outcomes."),
    "page": ("smartspider.cli.runs.problems:page", "Show all that is known about a request of a run."),
    "delete": ("smartspider.cli.runs.listing:delete", "Delete a run with its rows and logs."),
}

RESULTS: dict[str, tuple[str, str]] = {
    "show": ("smartspider.cli.results.show:show", "Show rows of a run."),
    "export": ("smartspider.cli.results.export:export", "Write all rows of a run to files."),
    "diff": ("smartspider.cli.results.diff:diff", "Compare the rows of two runs."),
    "files": ("smartspider.cli.results.files:files", "List or copy the files that a run downloaded."),
    "rejects": ("smartspider.cli.results.step_log:rejects", "Show rejected items with the reason."),
    "cleaning": (
        "smartspider.cli.results.step_log:cleaning",
        "Show the cleaning log: values before and after each step.",
    ),
}


app = LazyGroup(
    "smartspider", COMMANDS, "Crawl websites described by one task file into clean rows.", sections=SECTIONS
)
click.version_option(__version__, prog_name="smartspider")(app)
run = LazyGroup("run", RUN, COMMANDS["run"][1])
results = LazyGroup("results", RESULTS, COMMANDS["results"][1])
