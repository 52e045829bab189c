"""The examples, tasks, commands, keys and numbers of the documents are correct."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from tests.acceptance.server import TOKEN, served
from tests.acceptance.workshop import Workshop

from smartspider.cli.commands import COMMANDS, app
from smartspider.cli.exit_codes import Exit
from smartspider.core.requests import politeness
from smartspider.demo import account
from smartspider.demo.process import site_process
from smartspider.services.plans import compile_plan
from smartspider.services.runs import choose_run
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.entry_files import expand_files
from smartspider.taskfile.load import parse_local_task
from smartspider.taskfile.schema import task_schema
from smartspider.taskfile.template import TEMPLATES, render_template
from smartspider_testing.waiting import scaled

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ADDRESS = "127.0.0.1:8800"
SERVER = "127.0.0.1:8000"
"""Where documents have a server; one is started for those that speak of it."""
SESSIONS = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in ("cli", "operations", "outputs", "cookbook", "api")),
]
TWINS = [("README.md", "README.zh-CN.md"), ("docs/cookbook.md", "docs/cookbook.zh-CN.md")]
"""Documents that are there in both languages."""
FOUND = {
    "shop_api.json": (13, 240),
    "shop_api_links.json": (5, 50),
    "shop_articles.json": (27, 24),
    "shop_detail.json": (33, 30),
    "shop_feed.json": (1, 24),
    "shop_gentle.yaml": (12, 140),
    "shop_graphql.json": (6, 60),
    "shop_list.json": (6, 60),
    "shop_manual.json": (5, 9),
    "shop_orders.json": (4, 12),
    "shop_prices.json": (3, 30),
    "shop_settings.json": (1, 5),
    "shop_sitemap.json": (16, 12),
    "shop_structured.json": (13, 12),
    "shop_table.json": (1, 8),
    "shop_watch.yaml": (18, 16),
}
"""Pages and items of each example."""
FOUND_BY_TEMPLATE = {
    "article": (27, 24),
    "json_api": (13, 240),
    "list": (25, 248),
    "list_detail": (33, 8),
    "sitemap": (33, 28),
    "table": (1, 8),
}
"""The same of each template, with at most 33 pages and one level of links."""
STAND_INS = {
    "make demo": "smartspider demo",  # the front door's own tests see that it is this
    "make test": ":",  # this is running already
    f"python -m smartspider.demo.shop --port {ADDRESS[-4:]}": "echo listening on $SHOP",  # it is up already
}
NOT_THE_SAME_TWICE = (
    re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00)?"),
    re.compile(r"\b[0-9a-f]{32}\b"),
    re.compile(r"(?<=127\.0\.0\.1:)\d+"),
    re.compile(r"\d+(?= requests| to go| bytes)|\d+ pages?(?= done)"),
    re.compile(r"(?<=\brun )\d+|(?<=\"run_id\": \")\d+"),
    re.compile(r"(?<!127\.0\.0)(?<!€)(?<!\d)\d+\.\d+(\.\d+)?(?! │)"),
)
"""Times, fingerprints, ports, ids of runs (shared by all folders), and figures that depend on the machine."""


class Shown(msgspec.Struct, frozen=True):
    """A command of a document, and the lines shown below it."""

    command: str
    lines: list[str]


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


def shown_in(document: Path) -> list[Shown]:
    shown: list[Shown] = []
    for line in "".join(blocks(document, "console")).splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:], []))
        else:
            shown[-1].lines.append(line)
    return shown


def settled(line: str) -> str:
    for pattern in NOT_THE_SAME_TWICE:
        line = pattern.sub("#", line)
    return line


@pytest.fixture
def shop() -> Iterator[str]:
    with site_process("smartspider.demo.shop") as url:
        yield url


class Terminal:
    """One shell in a folder with what a checkout has, in which the commands of a document run in order."""

    def __init__(self, folder: Path, shop: str, server: str = "") -> None:
        self._folder = folder
        self._shop = shop.rstrip("/").rpartition("/")[2]
        self._server = server.rpartition("/")[2] or SERVER
        (folder / "home").mkdir(parents=True)
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "examples").mkdir()
        for example in (ROOT / "examples").iterdir():
            (folder / "examples" / example.name).write_text(self._here(example.read_text()))
        # Where a person has one terminal, and another in the checkout.
        (folder / "home" / "first-crawl").mkdir()
        (folder / "home" / "first-crawl" / "examples").symlink_to(folder / "examples")
        self._environment = {
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "SHOP": shop,
            "TOKEN": TOKEN,
        }
        if "PYTHONPATH" in os.environ:
            self._environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def _here(self, text: str) -> str:
        return text.replace(ADDRESS, self._shop).replace(SERVER, self._server)

    def run(self, shown: list[Shown]) -> list[tuple[str, str]]:
        """Run commands in order. Return the output and exit code of each."""
        script = ""
        for number, each in enumerate(shown):
            command = STAND_INS.get(each.command) or self._here(each.command)
            place = self._folder / f"said-{number}"
            script += f"{{ {command}\n}} > {place}.out 2>&1; echo $? > {place}.code\n"
        path = self._folder / "script.sh"
        path.write_text(script)
        subprocess.run(
            ["bash", path],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=scaled(200),
            check=True,
        )
        return [
            tuple((self._folder / f"said-{number}.{part}").read_text() for part in ("out", "code"))  # type: ignore[misc] # two parts
            for number in range(len(shown))
        ]


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("document", SESSIONS, ids=lambda path: path.name)
def test_every_command_shown_says_what_is_shown(
    document: Path, tmp_path: Path, shop: str, workshop: Workshop
) -> None:
    shown = shown_in(document)
    with ExitStack() as stack:
        has_server = any(SERVER in each.command for each in shown)
        server = stack.enter_context(served(workshop)).url if has_server else ""
        answers = Terminal(tmp_path / "checkout", shop, server).run(shown)
    for each, (said, code) in zip(shown, answers, strict=True):
        wanted = "137" if each.command.startswith("timeout -s KILL") else "0"
        assert code.strip() == wanted, f"$ {each.command}\n{said}"
        lines = {settled(line) for line in said.splitlines()}
        missing = [line for line in each.lines if line != "..." and settled(line) not in lines]
        assert missing == [], f"$ {each.command}\n{said}"


@pytest.mark.parametrize("names", TWINS, ids=lambda names: names[0])
def test_both_languages_show_the_same_and_link_to_the_same_places(names: tuple[str, str]) -> None:
    english, chinese = (ROOT / name for name in names)
    for language in ("console", "json"):
        assert blocks(english, language) == blocks(chinese, language)
    assert sorted(places_linked(english)) == sorted(places_linked(chinese))
    assert len(anchors(english)) == len(anchors(chinese))


def places_linked(document: Path) -> set[str]:
    """Return the targets of links. A heading of a translated document is named by its position."""
    places = set()
    for link, anchor in re.findall(r"\]\(([^)#]+)(?:#([^)]*))?\)", document.read_text()):
        is_translated = bool(anchor) and "cookbook" in link
        place = anchors(document.parent / link).index(anchor) if is_translated else anchor
        places.add(f"{link.replace('.zh-CN.md', '.md')}#{place}")
    return places


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").iterdir()))
def test_an_example_finds_what_it_should(name: str, workshop: Workshop, shop: str) -> None:
    text = (ROOT / "examples" / name).read_text()
    assert ADDRESS in text
    (workshop.folder / name).write_text(text.replace(f"http://{ADDRESS}/", shop))
    assert workshop.run("validate", name).expect(0).out == f"{name} is a valid task\n"
    password = {"SMARTSPIDER_VAR_SHOP_PASSWORD": account.PASSWORD}
    summary = workshop.run("crawl", name, "--json", "-o", "rows.jsonl", env=password).expect(0).json
    assert (summary["pages"], summary["items"]) == FOUND[name]
    assert_rows_are_full(workshop, summary)
    receipt = workshop.run("run", "show", "1", "--json").expect(0).json["receipt"]
    assert [host["violations"] for host in receipt] == [0]


def assert_rows_are_full(workshop: Workshop, summary: Any) -> None:
    """All rows are there, every field has a value, and nothing was given up or rejected."""
    rows = workshop.rows()
    assert len(rows) == summary["items"]
    assert all(value not in (None, "", []) for row in rows for value in row.values())
    assert (summary["failed"], summary["rejected"]) == (0, 0)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_works_as_it_stands(name: str, workshop: Workshop, shop: str) -> None:
    entry = json.loads(render_template(name, url=None, task_name=None))["entry_urls"][0]
    url = (entry if isinstance(entry, str) else entry["url"]).replace(f"http://{ADDRESS}/", shop)
    workshop.run("init", "task.json", "-t", name, "--url", url).expect(0)
    settings = ("politeness.delay_s=0.1", "limits.max_pages=33", "limits.max_depth=1")
    hurried = [part for setting in settings for part in ("--set", setting)]
    summary = workshop.run("crawl", "task.json", "--json", "-o", "rows.jsonl", *hurried).expect(0).json
    assert (summary["pages"], summary["items"]) == FOUND_BY_TEMPLATE[name]
    assert_rows_are_full(workshop, summary)


@pytest.mark.parametrize("name", ["tasks.md", "rules.md", "steps.md", "cookbook.md"])
def test_every_piece_of_a_task_shown_works(name: str, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"http://{ADDRESS}/1\n")
    (tmp_path / "products.csv").write_text(f"sku,link\nA-1,http://{ADDRESS}/2\n")
    (tmp_path / "my_steps.py").write_text(blocks(DOCS / "steps.md", "python")[0])
    (tmp_path / "my_steps.py").write_text(blocks(DOCS / "steps.md", "python")[0])
    pieces = [json.loads(block) for block in blocks(DOCS / name, "json")]
    assert pieces
    for piece in pieces:
        document = {"name": "piece", "entry_urls": [f"http://{ADDRESS}/"], **piece}
        task = parse_local_task(expand_files(document, tmp_path).document, tmp_path)
        compile_plan(compile_task(task), is_local=True)


def keys_in(schema: Any) -> set[str]:
    """The names of all properties of a JSON Schema, wherever they are."""
    if isinstance(schema, list):
        return set().union(*map(keys_in, schema))
    if not isinstance(schema, dict):
        return set()
    properties = schema.get("properties", {})
    inner = [value for key, value in schema.items() if key not in ("examples", "default")]
    return set(properties).union(*map(keys_in, inner))


def test_every_key_of_a_task_is_explained() -> None:
    text = "".join((DOCS / name).read_text() for name in ("tasks.md", "rules.md"))
    quoted = set(re.findall(r"`([\w.$]+)`", text))
    named = {name.rpartition(".")[2] for name in quoted} | quoted
    assert sorted(keys_in(task_schema()) - named) == []


PARTS = "Fetch Politeness Limits Traps Retry Dedup Recrawl Alerts Scope Schedule".split()
"""Parts of a task that have a table of their keys."""


def test_defaults_shown_are_the_defaults() -> None:
    definitions = task_schema()["$defs"]
    text = (DOCS / "tasks.md").read_text()
    seen = 0
    for part in PARTS:
        section = text.partition(f"\n## `{part.lower()}`\n")[2].partition("\n## ")[0]
        for key, shown in re.findall(r"^\| `(\w+)` \| ([^|]+) \| .", section, re.MULTILINE):
            default = definitions[part]["properties"][key]["default"]
            if key == "on_status":
                continue  # many numbers, shown in words
            assert shown.strip("`") == written(default), f"{part}.{key}"
            seen += 1
    assert seen > 25


def written(default: object) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def test_numbers_of_politeness_shown_are_the_numbers() -> None:
    text = " ".join((DOCS / "tasks.md").read_text().split())
    first_s, most_s = politeness.ADAPTIVE_FIRST_S, politeness.ADAPTIVE_MAX_S
    for sentence in (
        f"doubled, to at least {first_s:g} s and at most {most_s:g} s",
        f"takes {round(100 * (1 - politeness.ADAPTIVE_RECOVERY))} % off",
        f"after {politeness.CIRCUIT_FAILURES} requests in a row",
        f"on hold for {politeness.CIRCUIT_FIRST_S:g} s",
        f"opens for the {politeness.CIRCUIT_GIVE_UP}th time in a row",
        f"or the {politeness.CIRCUIT_GIVE_UP_UNSEEN}nd for a host that never answered",
    ):
        assert sentence in text


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def test_every_command_option_and_exit_code_is_explained() -> None:
    text = (DOCS / "cli.md").read_text()
    assert set(COMMANDS) <= set(re.findall(r"^## ([\w-]+)$", text, re.MULTILINE))
    common = text.partition("\n## Options of all commands\n")[2].partition("\n## ")[0]
    for name, command in commands(app):
        section = common + text.partition(f"\n## {name.partition(' ')[0]}\n")[2].partition("\n## ")[0]
        assert f"`{name}" in text
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) else ():
                assert f"`{option}" in section, f"{name} {option}"
    table = text.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == set(Exit)
    assert [key for key in choose_run.Summary.__struct_fields__ if f"| `{key}` |" not in text] == []


@pytest.mark.parametrize("document", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_what_a_document_points_at_is_there(document: Path) -> None:
    text = document.read_text()
    links = re.findall(r"\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)", text)
    for link, anchor in links:
        target = document.parent / link if link else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"
    files = re.findall(r"`((?:\w+/)+\w+\.(?:py|md|json))`", text)
    suites = re.findall(r"suite ((?:`\w+\.py`(?:, )?)+)", text)
    files += [name for each in suites for name in re.findall(r"`(\w+\.py)`", each)]
    kit = ROOT / "packages" / "smartspider-testing" / "src"
    places = (ROOT, ROOT / "src" / "smartspider", kit, kit / "smartspider_testing" / "contracts")
    assert [file for file in files if not any((place / file).exists() for place in places)] == []


def anchors(document: Path) -> list[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
