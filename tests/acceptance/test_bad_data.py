"""Bad rules, bad pages and bad targets: a clear message or a recorded reject, and never half a file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl  # type: ignore[import-untyped] # ships no types
import pytest
from pyarrow import parquet  # type: ignore[import-untyped] # ships no types
from tests.acceptance.workshop import Workshop, title_task, written_site

pytestmark = pytest.mark.acceptance

FORMATS = ["jsonl", "json", "csv", "xlsx", "parquet", "xml", "sqlite", "md", "csv.gz"]
FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1",  # noqa: RUF001 - the wide form is meant
    '=HYPERLINK("http://x","y")',
]
JSON_TYPE = {"Content-Type": "application/json"}
XML_TYPE = {"Content-Type": "application/xml"}
SECRET = "Bearer 5ecret-token"


def jmespath(expr: str, **more: Any) -> dict[str, Any]:
    return {"type": "jmespath", "expr": expr, **more}


def outputs(*endings: str) -> list[str]:
    return [part for ending in endings for part in ("-o", f"rows.{ending}")]


def with_fields(fields: dict[str, Any], *entries: str, **more: Any) -> dict[str, Any]:
    items = more.pop("items", None)
    selectors = {"fields": fields} if items is None else {"items": items, "fields": fields}
    return title_task(*entries, selectors=selectors, follow=[], retry={"max_attempts": 1}, **more)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if ".tmp-" in path.name]


BAD_RULES: list[dict[str, tuple[Any, str]]] = [
    {
        "not a number": ({"type": "const", "expr": float("nan")}, "nan is not a JSON number"),
        "half": ({"type": "const", "expr": "\ud800"}, "a lone surrogate"),
    },
    {
        "regex": ({"type": "regex", "expr": "(a"}, "is not a regular expression"),
        "blank": (jmespath(" "), "is empty"),
    },
    {
        "css": (":not(" * 3000 + "a" + ")" * 3000, "more than 20 deep"),
        "beside": ([":has(" * 200 + "a" + ")" * 200, {"type": "xpath", "expr": "//a"}], "more than 20 deep"),
        "xpath": ({"type": "xpath", "expr": "document('/etc/passwd')"}, "there is no function document()"),
        "reference": (jmespath("[&a]"), "'&' is not a value"),
        "step": ({"expr": "a", "steps": [{"use": "replace", "pattern": "("}]}, "steps[0].pattern"),
        "schema": (
            {"expr": "a", "steps": [{"use": "schema", "json_schema": {"$ref": "#/nope"}}]},
            "it refers to '#/nope', which does not exist",
        ),
    },
]


@pytest.mark.parametrize("rules", BAD_RULES, ids=["document", "form", "expression"])
def test_bad_rules_are_refused_in_words_and_nothing_is_written(
    workshop: Workshop, rules: dict[str, tuple[Any, str]]
) -> None:
    workshop.write(with_fields({name: rule for name, (rule, _) in rules.items()}, "http://127.0.0.1:9/"))
    refused = workshop.run("crawl", "task.json", "-o", "rows.csv").expect(2)
    told = refused.err.splitlines()[1:]
    assert len(told) == len(rules)
    for name, (_, reason) in rules.items():
        assert [line for line in told if f"selectors.fields.{name}" in line and reason in line], name
    assert max(map(len, told)) < 1000
    assert workshop.files() == ["task.json"]


def test_what_would_only_fail_later_is_refused_at_once(workshop: Workshop) -> None:
    task = with_fields(
        {"x": "b"},
        "http://127.0.0.1:9/",
        items={"type": "xpath", "expr": "count(//a)"},
        dedup={"items": ["x"], "update": ["y"]},
        fetch={"headers": {"Content-Length": "5"}},
    )
    workshop.write(task)
    told = workshop.run("validate", "task.json").expect(2).err
    assert "Content-Length" in told
    del task["fetch"]
    workshop.write(task)
    assert "dedup.update[0]: there is no field 'y'" in workshop.run("validate", "task.json").expect(2).err
    del task["dedup"]
    workshop.write(task)
    assert "selectors.items.expr" in workshop.run("validate", "task.json").expect(2).err


def test_a_secret_in_a_header_is_never_told(workshop: Workshop) -> None:
    headers: dict[str, Any] = {"Authorization": SECRET}
    with written_site(
        workshop.folder, routes={"/": [{"body": "<h1>x</h1>"}], "/bad": [{"status": 500}]}
    ) as site:
        entries = [{"url": site.url(path), "headers": headers} for path in ("/", "/bad")]
        task = with_fields({"x": "h1"})
        workshop.write({**task, "entry_urls": entries})
        said = [workshop.crawl("-o", "rows.jsonl").expect(7)]
        said.append(workshop.run("why", site.url("/bad")))
        said.append(workshop.run("dry-run", "task.json"))
        assert [arrival.headers["authorization"] for arrival in site.log()][:2] == [SECRET, SECRET]
    for wrong in (SECRET + "\n", {"a": SECRET}):
        headers["Authorization"] = wrong
        workshop.write({**task, "entry_urls": entries})
        said.append(workshop.run("validate", "task.json").expect(2))
    assert all("5ecret" not in each.out + each.err for each in said)
    logs = (workshop.folder / ".smartspider" / "titles" / "logs").rglob("*")
    assert all(b"5ecret" not in path.read_bytes() for path in logs if path.is_file())


BAD_JSON = {
    "/deep": ("[" * 100_000 + "]" * 100_000, "nests deeper"),
    "/nan": ('{"a": NaN}', "NaN is not a JSON value"),
    "/far": ('{"a": 1e999}', "out of range"),
    "/digits": ('{"a": ' + "9" * 5000 + "}", "not JSON"),
    "/html": ("<h1>x</h1>", "not JSON"),
    "/empty": ("", "not JSON"),
}


def test_json_that_is_none_is_a_failure_with_its_reason(workshop: Workshop) -> None:
    routes = {path: [{"body": body, "headers": JSON_TYPE}] for path, (body, _) in BAD_JSON.items()}
    routes["/good"] = [{"body": r'{"a": "x\u0000\ud800y", "a": "z\u0000\udc00"}', "headers": JSON_TYPE}]
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(with_fields({"a": jmespath("a")}, *map(site.url, routes)))
        summary = workshop.crawl("-o", "rows.jsonl").expect(7).json
        assert (summary["pages"], summary["failed"]) == (1, len(BAD_JSON))
        assert workshop.rows() == [{"a": "z"}]
        for path in ("/deep", "/nan", "/far"):
            assert BAD_JSON[path][1] in json.dumps(workshop.why(site.url(path)))


def test_xml_reads_no_file_and_does_not_explode(workshop: Workshop) -> None:
    levels = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 10))
    bodies = {
        "/laughs": f'<!DOCTYPE r [<!ENTITY e0 "lol">{levels}]><r><a>&e9;</a></r>',
        "/file": '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><r><a>[&f;]</a></r>',
        "/remote": '<!DOCTYPE r [<!ENTITY % p SYSTEM "/dtd"> %p;]><r><a>[&p;]</a></r>',
        "/deep": "<a>" * 50_000 + "</a>" * 50_000,
    }
    routes = {path: [{"body": body, "headers": XML_TYPE}] for path, body in bodies.items()}
    with written_site(workshop.folder, routes=routes) as site:
        fields = {"css": "a", "xpath": {"type": "xpath", "expr": "//a"}, "feed": {"type": "feed"}}
        workshop.write(with_fields(fields, *map(site.url, routes)))
        finished = workshop.crawl("-o", "rows.jsonl")
        assert sorted(site.paths()) == sorted(routes)
    assert finished.code in {0, 7}
    assert finished.peak_mb < 300
    written = (workshop.folder / "rows.jsonl").read_text()
    assert "root:" not in written
    assert "lollol" not in written


def test_a_sitemap_that_unpacks_without_end_is_cut_off(workshop: Workshop) -> None:
    routes = {"/": [{"body": "<h1>x</h1>"}], "/s.xml": [{"hostile": "gzip_bomb"}]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(with_fields({"x": "h1"}, site.url(), sitemaps=[site.url("/s.xml")]))
        finished = workshop.crawl("-o", "rows.jsonl").expect(7)
    assert (finished.json["items"], finished.json["failed"]) == (1, 1)
    assert finished.peak_mb < 300


def test_no_cell_is_a_formula(workshop: Workshop) -> None:
    found = [{"v": formula} for formula in [*FORMULAS, "-12.5"]]
    with written_site(workshop.folder, routes={"/": [{"data": found}]}) as site:
        fields = {"v": jmespath("v", text="raw"), "=k": jmespath("v", text="raw")}
        workshop.write(with_fields(fields, site.url(), items=jmespath("@")))
        workshop.crawl(*outputs("csv", "xlsx"), "--excel").expect(0)
    text = (workshop.folder / "rows.csv").read_text(encoding="utf-8-sig")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["v", "'=k"]
    assert rows == [["'" + formula] * 2 for formula in FORMULAS] + [["-12.5"] * 2]
    with closing(openpyxl.load_workbook(workshop.folder / "rows.xlsx")) as book:
        cells = [cell for row in book.active.iter_rows() for cell in row]
    assert {cell.data_type for cell in cells} == {"s"}
    assert [cell.value for cell in cells[2::2]] == [*FORMULAS, "-12.5"]


def csv_rows(data: bytes) -> int:
    shortest = csv.field_size_limit(100_000_000)
    try:
        return len(list(csv.reader(io.StringIO(data.decode(), newline="")))) - 1
    finally:
        csv.field_size_limit(shortest)


def xlsx_rows(data: bytes) -> int:
    with closing(openpyxl.load_workbook(io.BytesIO(data), read_only=True)) as book:
        return sum(1 for _ in book.active.iter_rows()) - 1


def sqlite_rows(data: bytes) -> int:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(database.execute("SELECT count(*) FROM items").fetchone()[0])


ROWS: dict[str, Callable[[bytes], int]] = {
    "jsonl": lambda data: len([json.loads(line) for line in data.splitlines()]),
    "json": lambda data: len(json.loads(data)),
    "csv": csv_rows,
    "csv.gz": lambda data: csv_rows(gzip.decompress(data)),
    "xlsx": xlsx_rows,
    "parquet": lambda data: int(parquet.read_table(io.BytesIO(data)).num_rows),
    "xml": lambda data: len(ElementTree.fromstring(data)),
    "sqlite": sqlite_rows,
    "md": lambda data: len(data.splitlines()) - 2,
}
"""Rows by readers that are not the product's own; each raises when the file is broken."""


def count_rows(path: Path) -> int:
    return ROWS[path.name.partition(".")[2]](path.read_bytes())


def test_every_format_holds_values_and_names_from_hell(workshop: Workshop) -> None:
    values: list[Any] = [
        *(
            "\x00nul",
            "\x01\x1f",
            "a\r\nb\rc",
            "\ufffe\uffff",
            "]]></item>",
            "|`",
            '"',
            "_x0041_",
            "\u2028",
            "<r>",
        ),
        *(True, None, 10**30, 1e308, 5e-324, 2**53 + 1, [1, {"a b": "<"}], {}, {"": [[[]]]}),
        "é<" * 1_000_000,
    ]
    names = [
        "a",
        "A",
        "a ",
        "a/b",
        'q"q',
        "<&>",
        "\x01c",
        "1",
        "xml",
        "item",
        "a\nb",
        "|",
        "rowid",
        "中文",
        "😀",
    ]
    with written_site(workshop.folder, routes={"/": [{"data": [{"v": value} for value in values]}]}) as site:
        fields = {name: jmespath("v", text="raw") for name in names[:1]}
        fields |= {name: {"type": "const", "expr": name} for name in names[1:]}
        workshop.write(with_fields(fields, site.url(), items=jmespath("@")))
        summary = workshop.crawl(*outputs(*FORMATS)).expect(0).json
    assert summary["items"] == len(values)
    for ending in FORMATS:
        assert count_rows(workshop.folder / f"rows.{ending}") == len(values), ending
    last = (workshop.folder / "rows.jsonl").read_bytes().splitlines()[-1]
    assert json.loads(last) == {"a": values[-1], **{name: name for name in names[1:]}}
    with closing(sqlite3.connect(workshop.folder / "rows.sqlite")) as database:
        assert database.execute("SELECT a FROM items LIMIT 1 OFFSET 19").fetchone() == (values[-1],)


def test_more_columns_than_a_format_holds_are_refused_before_the_crawl(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": [{"body": "<h1>x</h1>"}]}) as site:
        fields = {f"f{number}": {"type": "const", "expr": number} for number in range(3000)}
        workshop.write(with_fields(fields, site.url()))
        refused = workshop.crawl(*outputs("xlsx", "sqlite")).expect(2)
        assert "3000 columns" in refused.err
        assert "2000" in refused.err
        assert site.paths() == []
        workshop.crawl(*outputs("xlsx", "parquet")).expect(0)
    assert parquet.read_table(workshop.folder / "rows.parquet").num_columns == 3000


def test_an_output_cannot_take_the_place_of_the_crawls_own_database(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": [{"body": "<h1>x</h1>"}]}) as site:
        workshop.write(with_fields({"x": "h1"}, site.url()))
        workshop.crawl().expect(0)
        own = workshop.folder / ".smartspider" / "titles" / "smartspider.db"
        (workshop.folder / "link.db").symlink_to(own)
        for target in (own, "link.db"):
            assert "crawl database" in workshop.crawl("-o", target).expect(2).err
            assert "crawl database" in workshop.run("results", "export", "-o", target).expect(2).err
        workshop.run("fsck").expect(0)


def test_a_link_that_leads_to_itself_is_no_traceback(workshop: Workshop) -> None:
    (workshop.folder / "loop.csv").symlink_to("loop.csv")
    with written_site(workshop.folder, routes={"/": [{"body": "<h1>x</h1>"}]}) as site:
        workshop.write(with_fields({"x": "h1"}, site.url()))
        finished = workshop.crawl("-o", "loop.csv", "--split-rows", "5", "-o", "rows.csv")
    assert "Traceback" not in finished.err


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A workshop with a run of many rows."""
    workshop = Workshop(tmp_path_factory.mktemp("stock") / "work")
    rows = [{"i": number, "t": f"text {number} " * 10} for number in range(20_000)]
    with written_site(workshop.folder, routes={"/": [{"data": rows}]}) as site:
        fields = {"i": jmespath("i", steps=["integer"]), "t": jmespath("t")}
        workshop.write(with_fields(fields, site.url(), items=jmespath("@")))
        workshop.crawl().expect(0)
    return workshop


KILLED = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
    "from smartspider.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
"""The kernel kills it in the middle of a file."""


@pytest.mark.parametrize("ending", ["jsonl", "xlsx", "parquet", "sqlite", "csv.gz"])
def test_a_killed_export_leaves_the_old_file_and_the_next_one_tidies_up(
    stocked: Workshop, ending: str
) -> None:
    target = stocked.folder / f"rows.{ending}"
    target.write_text("old")
    stocked.start_python("-c", KILLED, "results", "export", "-o", target.name).wait().expect(-signal.SIGXFSZ)
    assert target.read_text() == "old"
    assert leftovers(stocked.folder)
    stocked.run("results", "export", "-o", target.name).expect(0)
    assert count_rows(target) == 20_000
    assert leftovers(stocked.folder) == []


FULL_DISK = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
    "from smartspider.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


def test_a_disk_that_runs_full_leaves_every_old_file(stocked: Workshop) -> None:
    for ending in ("jsonl", "xlsx", "parquet", "sqlite", "xml"):
        (stocked.folder / f"full.{ending}").write_text("old")
        failed = stocked.start_python("-c", FULL_DISK, "results", "export", "-o", f"full.{ending}").wait()
        failed.expect(5)
        assert f"full.{ending} cannot be written" in failed.err
        assert "Traceback" not in failed.err
        assert (stocked.folder / f"full.{ending}").read_text() == "old"
    assert leftovers(stocked.folder) == []


def test_of_several_files_none_appears_when_one_cannot_be_written(stocked: Workshop) -> None:
    (stocked.folder / "taken.csv").mkdir()
    refused = stocked.run("results", "export", "-o", "fine.jsonl", "-o", "taken.csv").expect(2)
    assert "taken.csv is a folder" in refused.err
    split = ("results", "export", "-o", "part.jsonl", "-o", "part.csv", "--split-rows", "5000")
    stocked.start_python("-c", FULL_DISK, *split).wait().expect(5)
    assert not [path for path in stocked.folder.iterdir() if path.name.startswith(("fine", "part"))]
    assert leftovers(stocked.folder) == []
