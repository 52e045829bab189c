"""Facts in the documents that could become stale: events, commands, limits, versions and files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from smartspider import __version__
from smartspider.backends.postgres import schema as postgres
from smartspider.backends.redis import server_check
from smartspider.backends.sqlite import database
from smartspider.cli.commands import app
from smartspider.cli.runs import progress
from smartspider.cli.server import roles
from smartspider.core import events
from smartspider.core.frontier import cause
from smartspider.core.requests import refusal
from smartspider.core.workers import host_assignment
from smartspider.engine import context, worker
from smartspider.engine.retry_or_close import REACTIONS
from smartspider.extract.links import sitemap
from smartspider.fetch import http_repair, robots_file
from smartspider.fetch.charset import meta
from smartspider.interfaces import frontier_index
from smartspider.keeper import duties
from smartspider.store.settle import left_out, recrawl
from smartspider.taskfile.model.sections import Politeness
from smartspider.taskfile.schema import task_schema
from smartspider.telemetry import log_files
from smartspider.wiring.processes import driver
from smartspider_testing.chaos.faults import FAULTS

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
TASKS = (DOCS / "tasks.md").read_text()


def text_of(name: str) -> str:
    """Return a document as one line."""
    return " ".join((ROOT / name).read_text().split())


def table_after(name: str, start: str) -> list[list[str]]:
    """Return the cells of the first table after a text, without its head."""
    section = (DOCS / name).read_text().partition(f"\n{start}")[2]
    lines = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)[0].splitlines()
    lines = [line for line in lines if not re.match(r"\|-|\| (reason|command) \|", line)]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_event_is_documented_with_its_level() -> None:
    shown: dict[str, str] = {}
    for line in re.findall(r"^\| (`[a-z]+\.[a-z]+`.*?) \| ([a-z, ]+) \|", _operations(), re.MULTILINE):
        names, levels = re.findall(r"`(\S+)`", line[0]), line[1].split(", ")
        shown |= dict(zip(names, levels * len(names) if len(levels) == 1 else levels, strict=False))
    defined = {event.name: event.level for event in events.Event.__subclasses__()}
    assert shown == defined


def _operations() -> str:
    return (DOCS / "operations.md").read_text().partition("\n## Logs\n")[2].partition("\n## ")[0]


def test_the_overview_of_commands_names_exactly_the_commands() -> None:
    shown: set[str] = set()
    for link in re.findall(r"\[(`.*?)\]\(#", "".join(row[0] for row in table_after("cli.md", "| command"))):
        group, _, first = (names := re.findall(r"`(.*?)`", link))[0].rpartition(" ")
        shown |= {f"{group} {name.removeprefix(group).strip()}".strip() for name in (first, *names[1:])}
    assert shown == set(_commands())


def _commands() -> Iterator[str]:
    top = click.Context(app)
    for name in app.list_commands(top):
        command = app.get_command(top, name)
        if isinstance(command, click.Group):
            yield from (f"{name} {inner}" for inner in command.list_commands(click.Context(command)))
        else:
            yield name


def test_every_cause_of_a_failure_is_documented() -> None:
    text = (DOCS / "cli.md").read_text()
    section = text.partition("### Causes")[2].partition("\n## ")[0]
    causes = {*cause.CAUSES, *cause.REJECT_CAUSES} - set(refusal.REFUSAL_CODES) | {"other"}
    assert set(re.findall(r"`([a-z_]+)`", section)) >= causes


def test_every_reason_to_leave_a_url_out_is_documented() -> None:
    named = {name for row in table_after("cli.md", "### What a crawl leaves out") for name in _quoted(row[0])}
    assert named == set(refusal.REFUSAL_CODES)


def _quoted(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_defaults_and_versions_in_the_readme_are_those_of_the_code(name: str) -> None:
    text, polite = text_of(name), Politeness()
    assert f"SmartSpider/{__version__}" in text
    assert re.search(rf"{polite.delay_s:g} (s|秒)", text)
    assert re.search(rf"(at most|最多) {polite.per_host}\b", text)
    assert re.search(rf"PostgreSQL ?\W{postgres.OLDEST_SERVER}\b", text)
    assert re.search(rf"Redis ?\W{'.'.join(map(str, server_check.OLDEST))}\b", text)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("operations.md", f"those in flight are finished for up to {context.DRAIN_S:g} s"),
        ("operations.md", f"stays locked for {database.LOCK_TIMEOUT_S:g} s"),
        ("operations.md", f"rotated at {log_files.MAX_BYTES // 1_000_000} MB"),
        ("operations.md", f"more than {recrawl.MAX_PAGE_BYTES // 1_000_000} MB of them"),
        ("server.md", f"for up to {context.DRAIN_S:g} s"),
        ("server.md", f"rotated at {log_files.MAX_BYTES // 1_000_000} MB"),
        ("cli.md", f"for at most {context.DRAIN_S:g} seconds"),
        ("cli.md", f"a plain line every {progress.LINE_S:g} seconds"),
        ("cli.md", f"Of each reason a run stores up to {left_out.LINKS_KEPT:,} links"),
        ("architecture.md", f"the verdicts of up to {worker.SETTLE_PAGES} pages"),
        ("cluster.md", f"PostgreSQL | {postgres.OLDEST_SERVER} or newer"),
        ("cluster.md", f"Redis | {'.'.join(map(str, server_check.OLDEST))} or newer"),
        ("cluster.md", f"in flight for up to {roles.DRAIN_S:g} s"),
        ("cluster.md", f"no keeper decides for {'two' if driver.STALE_S == 120 else driver.STALE_S} minutes"),
        ("failures.md", f"Redis serves for {frontier_index.LAPSE_S:g} s after its last renewal"),
        ("failures.md", f"The term of a leader lasts {duties.TERM_S:g} s"),
        ("glossary.md", f"one of {host_assignment.PARTITIONS} groups of hosts"),
        ("tasks.md", f"a header of more than {http_repair.MAX_HEAD_BYTES >> 10} KiB"),
        ("tasks.md", f"Crawl-delay of robots.txt (at most {robots_file.MAX_CRAWL_DELAY_S:g} s)"),
        ("tasks.md", f"{'five' if sitemap.MAX_NESTING == 5 else sitemap.MAX_NESTING} levels deep"),
        ("tasks.md", f"in the first {meta.ALWAYS_SCANNED_BYTES:,} bytes"),
    ],
)
def test_a_number_in_a_document_is_that_of_the_code(name: str, sentence: str) -> None:
    assert sentence in text_of(f"docs/{name}")


def test_the_options_with_a_range_show_it() -> None:
    section = (DOCS / "cli.md").read_text()
    for command, option in (("crawl", "workers"), ("dry-run", "limit")):
        shown = app.get_command(click.Context(app), command)
        assert shown is not None
        (found,) = [each for each in shown.params if each.name == option]
        assert isinstance(found.type, click.IntRange)
        part = section.partition(f"\n## {command}\n")[2].partition("\n## ")[0]
        (line,) = re.findall(rf"^\| `--{option} N` \|.*$", part, re.MULTILINE)
        assert f"{found.type.min} to {found.type.max}" in line


def test_the_failures_said_to_be_retried_are_those() -> None:
    (sentence,) = re.findall(r"^(.+) are retried according to `retry`; the others", TASKS, re.MULTILINE)
    listed = {code for row in table_after("tasks.md", "| code | meaning |") for code in _quoted(row[0])}
    retried = {kind.code for kind, reaction in REACTIONS.items() if reaction.ends is None}
    assert set(_quoted(sentence)) == retried & listed
    assert listed <= {kind.code for kind in REACTIONS}


def test_the_keys_of_a_task_shown_are_its_keys_with_their_defaults() -> None:
    properties = task_schema()["properties"]
    shown = {_quoted(row[0])[0]: row[1] for row in table_after("tasks.md", "## Top level") if _quoted(row[0])}
    not_built = set(_quoted(TASKS.partition("\n## Not built yet\n")[2]))
    assert set(shown) <= set(properties)
    assert set(properties) - set(shown) - not_built == {"$schema"}
    for key, default in shown.items():
        if default.isdigit() or default in ("true", "false"):
            assert json.loads(default) == properties[key].get("default"), key


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_layers_shown_are_those_that_imports_are_checked_by(name: str) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("smartspider.", "") for layer in contracts[0]["layers"]]
    assert " → ".join(f"({layer})" if "|" in layer else layer for layer in layers) in text_of(name)


def test_every_fault_named_beside_a_failure_exists() -> None:
    rows = table_after("failures.md", "| event | pause | fault |")
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row[-1])}
    assert len(named) > 10
    assert named <= {fault.name for fault in FAULTS}
