"""The reference pages: what their tables say is true, and nothing is left out."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from smartspider.backends.sqlite.schema import VERSION as FOLDER_FORMAT
from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Extraction, Item
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import RuleType
from smartspider.demo import catalogue, journal, pages
from smartspider.extract.links import follows
from smartspider.extract.parsing import json_parser
from smartspider.outputs import sqlite, xlsx
from smartspider.outputs.files import COMPRESSIONS
from smartspider.pipeline.compile import StepCompiler
from smartspider.plugins.kinds import OUTPUT, STEP
from smartspider.plugins.options import option_parameters
from smartspider.plugins.registry import resolve
from smartspider.services.plans import find_step
from smartspider.services.preview.rules import apply_rules, build_task
from smartspider.store.settle import step_log
from smartspider.taskfile import entry_checks
from smartspider.taskfile.model.schedule import Schedule

DOCS = Path(__file__).parents[3] / "docs"
STEPS = (DOCS / "steps.md").read_text()
RULES = (DOCS / "rules.md").read_text()
OUTPUTS = (DOCS / "outputs.md").read_text()

FETCHED_AT = 1773570600.0
"""The time that steps.md assumes: 2026-03-15 at 10:30 UTC."""
LIST_URL = "http://127.0.0.1:8800/shop/list"
REJECTED = "rejected"


def blocks(name: str, language: str) -> list[str]:
    text = (DOCS / name).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def sections(text: str, level: str) -> dict[str, str]:
    parts = re.split(rf"^{level} (.+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


STEP_SECTIONS = sections(STEPS.partition("\n## All steps\n")[2].partition("\n## ")[0], "###")


def test_every_step_has_a_section_and_every_option_a_line_in_it() -> None:
    assert sorted(STEP_SECTIONS) == sorted(STEP.built_in)
    for name, section in STEP_SECTIONS.items():
        options = [option for option in option_parameters(resolve(STEP, name)) if option != "fields"]
        listed = re.findall(
            r"^\| `(\w+)` \|", section.partition("| option |")[2].partition("\n\n")[0], re.MULTILINE
        )
        assert listed == options, name
        assert options or "No options." in " ".join(section.split()), name
        assert f"(#{name})" in STEPS, name


def test_the_defaults_of_options_shown_are_the_defaults() -> None:
    shown = 0
    for name, section in STEP_SECTIONS.items():
        taken = option_parameters(resolve(STEP, name))
        for option, default in re.findall(
            r"^\| `(\w+)` \| ([^|]+) \|", section.partition("| option |")[2], re.MULTILINE
        ):
            if option in taken:
                is_required = taken[option].default is taken[option].empty
                assert (default == "required") is is_required, f"{name}.{option}"
                if default.startswith("`") and taken[option].default:
                    assert default.strip("`") == taken[option].default
                shown += 1
    assert shown > 15


def examples() -> Iterator[tuple[Any, str, Any, str]]:
    """Step, whether it is shown on a value or an item, what goes in, and what comes out."""
    for section in STEP_SECTIONS.values():
        for kind, table in re.findall(
            r"^\| step \| (value|item) \| becomes \|\n\|[-|]+\n((?:\|.+\n)+)", section, re.MULTILINE
        ):
            for line in table.splitlines():
                step, given, out = (cell.strip().strip("`") for cell in line.strip("|").split(" | "))
                yield json.loads(step), kind, json.loads(given), out


@pytest.mark.parametrize(
    ("step", "kind", "given", "out"), [*examples()], ids=lambda value: json.dumps(value)[:60]
)
def test_a_step_makes_of_a_value_what_is_shown(step: Any, kind: str, given: Any, out: str) -> None:
    item: Item = given if kind == "item" else {"value": given}
    treated = _treated({"use": step} if isinstance(step, str) else step, item)
    if out == REJECTED:
        assert treated is None
    else:
        assert treated is not None
        made = treated if kind == "item" else treated["value"]
        wanted = json.loads(out)
        assert (made, type(made)) == (wanted, type(wanted))
        assert kind == "value" or list(made) == list(wanted)


def _treated(step: dict[str, Any], item: Item) -> Item | None:
    pipeline = StepCompiler(find_step).compile_pipeline(
        (step,), tuple(TableColumn(name, "json") for name in item)
    )
    assert pipeline is not None
    page = Page(LIST_URL, 200, {}, b"", "utf-8", FETCHED_AT)
    treated = pipeline.process(Extraction([item], [], LIST_URL), page)
    return treated.items[0] if treated.items else None


def test_every_step_that_changes_something_is_shown_at_work() -> None:
    shown = {step if isinstance(step, str) else step["use"] for step, *_ in examples()}
    assert set(STEP.built_in) - shown == {"download", "unique"}  # both need a run


def test_the_step_of_ones_own_works_as_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (*_, source), (project,) = blocks("steps.md", "python"), blocks("steps.md", "toml")
    (tmp_path / "shelfmark").mkdir()
    (tmp_path / "shelfmark" / "__init__.py").touch()
    (tmp_path / "shelfmark" / "steps.py").write_text(source)
    info = tmp_path / "shelfmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelfmark\nVersion: 1.0\n")
    group, points = re.findall(r'^\[project\.entry-points\."(.+)"\]\n((?:.+\n)+)', project, re.MULTILINE)[0]
    (info / "entry_points.txt").write_text(f"[{group}]\n{points.replace(chr(34), '')}")
    monkeypatch.syspath_prepend(tmp_path)
    try:
        assert _treated({"use": "isbn"}, {"isbn": "978-3-16-148410-0"}) == {"isbn": "9783161484100"}
        assert _treated({"use": "isbn", "prefix": "979"}, {"isbn": "978-3-16-148410-0"}) == {"isbn": None}
        assert _treated({"use": "isbn", "on_error": "reject"}, {"isbn": "978-3-16-148410-1"}) is None
    finally:
        for module in ("shelfmark", "shelfmark.steps"):
            sys.modules.pop(module, None)


def test_every_type_of_rule_is_explained() -> None:
    table = sections(RULES, "##")["Types"].partition("\n\n###")[0]
    named = set(re.findall(r"`(\w+)`", "\n".join(line.split(" | ")[0] for line in table.splitlines())))
    assert set(get_args(RuleType)) <= named


PAGES = {
    "article": journal.article_page(journal.articles()[0], "http://127.0.0.1"),
    "product": pages.product_page(catalogue.products()[0], "http://127.0.0.1"),
    "feed": journal.rss("http://127.0.0.1"),
    "tables": journal.comparison("http://127.0.0.1"),
    "links": pages.about("http://127.0.0.1"),
    "list": """<script type="application/ld+json">
        {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "name": "a"}]}</script>""",
}


@pytest.mark.parametrize("kind", PAGES)
def test_what_a_page_says_of_itself_has_the_keys_that_are_listed(kind: str) -> None:
    table = sections(RULES, "##")["Data that pages have"]
    (gives,) = re.findall(rf"^\| `{kind}` \| (.+) \|$", table, re.MULTILINE)
    page = Page(LIST_URL, 200, {"content-type": "text/html"}, PAGES[kind].encode(), "utf-8", FETCHED_AT)
    (item,) = apply_rules(build_task(LIST_URL, {"it": {"type": kind}}), page).items
    found = item["it"][0] if isinstance(item["it"], list) else item["it"]
    keys = [*found, *(found["entries"][0] if kind == "feed" else ())]
    assert [key for key in keys if f"`{key}`" not in gives] == []
    listed = set(re.findall(r"`(\w+)`", gives.partition(" (of ")[0])) - {"column_2"}
    assert listed <= set(keys)


def test_every_format_and_compression_is_explained() -> None:
    table = OUTPUTS.partition("\n## Formats\n")[2].partition("\n## ")[0]
    rows = "\n".join(line for line in table.splitlines() if line.startswith("| `."))
    assert set(re.findall(r"`\.(\w+)`", rows)) == set(OUTPUT.built_in)
    for line in rows.splitlines():
        for suffix in re.findall(r"`\.(\w+)`", line.split(" | ")[0]):
            is_compressible = getattr(resolve(OUTPUT, suffix), "is_compressible", False)
            assert line.endswith("| yes |") is is_compressible, suffix
    assert [name for name in COMPRESSIONS if f"`.{name}`" not in table] == []


def test_the_numbers_shown_are_the_numbers() -> None:
    sentences = {
        "rules.md": [f"JSON deeper than {json_parser.DEEPEST} levels"],
        "steps.md": [
            f"The first {step_log.REJECTS_KEPT:,} of a run are kept",
            f"of each value {step_log.REJECT_BYTES // 1000} KB",
            f"The first {step_log.CHANGES_KEPT:,} changes of a run are kept",
        ],
        "tasks.md": [
            f"A link carries at most {follows.CARRIED_BYTES // 1000} KB",
            f"all links of a page {follows.CARRIED_BYTES_OF_A_PAGE // 1_000_000} MB",
            f"all entries together make at most {entry_checks.MAX_ENTRIES:,}",
        ],
        "outputs.md": [
            f"{xlsx.XlsxOutput.sheet_rows - 1:,} rows in a sheet",
            f"{xlsx.CELL_UNITS:,} characters in a cell",
            f"ends in `{xlsx.CUT}`",
            f"| `.xlsx` | {xlsx.XlsxOutput.max_columns:,} columns",
            f"| `.sqlite` | {sqlite.SqliteOutput.max_columns:,} columns",
        ],
    }
    for name, wanted in sentences.items():
        text = " ".join((DOCS / name).read_text().split())
        assert [sentence for sentence in wanted if sentence not in text] == []


def test_the_format_of_a_data_folder_is_the_one_documented() -> None:
    text = " ".join((DOCS / "operations.md").read_text().split())
    assert f"The folder has a format number, {FOLDER_FORMAT} in this version." in text


def test_the_extras_documented_are_those_of_the_distribution() -> None:
    with (DOCS.parent / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    table = (DOCS / "install.md").read_text().partition("| extra |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    named = {name for cell in first_cells for name in re.findall(r"`([\w-]+)`", cell)}
    assert named == set(extras)


def test_every_key_of_a_schedule_is_documented() -> None:
    section = (DOCS / "tasks.md").read_text().partition("\n## `schedule`\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert named == set(Schedule.model_fields)
