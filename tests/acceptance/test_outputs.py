"""The rows a crawl writes, and what goes to which stream."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from tests.acceptance.workshop import (
    SUMMARY_KEYS,
    Workshop,
    graph_site,
    html,
    linked,
    title_task,
    until,
    written_site,
)

from smartspider_testing.sites.graph import graph_task

pytestmark = pytest.mark.acceptance


def test_json_prints_exactly_one_object_and_talk_goes_to_stderr(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": ["/a"], "/a": []})) as site:
        workshop.write(title_task(site.url("/")))
        finished = workshop.crawl("-o", "rows.jsonl", "-o", "rows.csv").expect(0)
        assert list(finished.json) == SUMMARY_KEYS
        assert finished.json["outputs"] == ["rows.jsonl", "rows.csv"]
        assert finished.json["duration_s"] > 0
        quiet = workshop.run("crawl", "task.json").expect(0)
        assert quiet.out == ""
        assert "completed: 2 pages, 2 items" in quiet.err


def test_files_appear_whole_at_the_end_and_nothing_else_is_left(workshop: Workshop) -> None:
    with graph_site(300, seed=61, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = workshop.start("crawl", "task.json", "-o", "rows.jsonl", "-o", "deep/down/rows.csv", "--json")
        (workshop.folder / "rows.jsonl").write_text("of yesterday")
        until(lambda: site.fetches() >= 100, "100 fetches")
        during = [name for name in workshop.files() if not name.startswith(".smartspider/")]
        assert during == ["rows.jsonl", "task.json"]
        assert (workshop.folder / "rows.jsonl").read_text() == "of yesterday"
        summary = crawl.wait().expect(0).json
        after = [name for name in workshop.files() if not name.startswith(".smartspider/")]
        assert after == ["deep/down/rows.csv", "rows.jsonl", "task.json"]
        with (workshop.folder / "deep/down/rows.csv").open(newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        assert table == workshop.rows()
        assert len(table) == summary["items"]


def test_csv_has_lists_and_objects_as_json_and_null_as_nothing(workshop: Workshop) -> None:
    extra = '<p class="t">one, "two"\nthree</p><p class="t">gr\u00fc\u00df</p><b data-x="7">bold</b>'
    fields: dict[str, Any] = {
        "title": "h1::text",
        "texts": {"expr": "p.t", "type": "css", "many": True},
        "nothing": ".absent",
        "nested": {"bold": "b::text", "x": "b::attr(data-x)"},
        "status": {"type": "meta", "expr": "status"},
        "first": "p.t",
    }
    with written_site(workshop.folder, routes={"/": [html("a,b", extra=extra)]}) as site:
        workshop.write(title_task(site.url("/"), selectors={"fields": fields}))
        workshop.crawl("-o", "rows.csv", "-o", "rows.jsonl").expect(0)
        texts = ['one, "two" three', "gr\u00fc\u00df"]
        assert workshop.rows() == [
            {
                "title": "a,b",
                "texts": texts,
                "nothing": None,
                "nested": {"bold": "bold", "x": "7"},
                "status": 200,
                "first": texts[0],
            }
        ]
        with (workshop.folder / "rows.csv").open(newline="", encoding="utf-8") as file:
            header, row = list(csv.reader(file))
        assert header == list(fields)
        assert json.loads(row[1]) == texts
        assert json.loads(row[3]) == {"bold": "bold", "x": "7"}
        assert (row[0], row[2], row[4], row[5]) == ("a,b", "", "200", texts[0])


def test_the_envelope_says_where_a_row_comes_from(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl("-o", "rows.jsonl", "--envelope").expect(0)
        (row,) = workshop.rows()
        assert set(row) == {"url", "run", "fingerprint", "time", "data"}
        assert (row["url"], row["run"], row["data"]["title"]) == (site.url("/"), "1", "/")


@pytest.mark.parametrize("name", ["rows.xlsx.gz", "rows.txt", "rows"])
def test_an_output_that_cannot_be_is_refused_before_anything_is_fetched(
    workshop: Workshop, name: str
) -> None:
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(title_task(site.url("/")))
        before = workshop.files()
        refused = workshop.crawl("-o", name).expect(2)
        assert name in refused.err
        assert ".csv" in refused.err or name == "rows.xlsx.gz"
        assert site.paths() == []
        assert workshop.files() == before


def test_items_rejected_and_rows_of_several_page_types_are_counted(workshop: Workshop) -> None:
    routes = {
        "/": [html("list", ["/1", "/2", "/3"])],
        "/1": [html("one", extra='<i class="price">5</i>')],
        "/2": [html("two")],
        "/3": [html("three", extra='<i class="price">7</i>')],
    }
    price = {"type": "css", "expr": ".price", "required": True}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(
            title_task(
                site.url("/"),
                selectors={},
                follow=[{"selector": "a.child", "to": "detail"}],
                pages={"detail": {"selectors": {"fields": {"title": "h1", "price": price}}}},
            )
        )
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (summary["pages"], summary["items"], summary["rejected"]) == (4, 2, 1)
        assert sorted((row["title"], row["price"]) for row in workshop.rows()) == [
            ("one", "5"),
            ("three", "7"),
        ]


def test_one_crawl_writes_every_format_and_an_export_later_the_same(workshop: Workshop) -> None:
    names = ["jsonl", "json", "csv", "xml", "md", "xlsx", "parquet", "sqlite", "jsonl.gz", "csv.zst"]
    with written_site(workshop.folder, routes=linked({"/": ["/a", "/b"], "/a": [], "/b": []})) as site:
        workshop.write(title_task(site.url("/")))
        outputs = [part for name in names for part in ("-o", f"out/rows.{name}")]
        summary = workshop.crawl(*outputs).expect(0).json
    assert summary["outputs"] == [f"out/rows.{name}" for name in names]
    rows = workshop.rows("out/rows.jsonl")
    titles = sorted(row["title"] for row in rows)
    assert titles == ["/", "/a", "/b"]
    assert json.loads((workshop.folder / "out/rows.json").read_text()) == rows
    later = [part for name in names for part in ("-o", f"later/rows.{name}")]
    export = workshop.run("results", "export", "--json", *later).expect(0).json
    assert (export["items"], export["outputs"]) == (3, [f"later/rows.{name}" for name in names])
    for name in ("jsonl", "json", "csv", "xml", "md", "jsonl.gz"):
        first, second = (workshop.folder / folder / f"rows.{name}" for folder in ("out", "later"))
        assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in (workshop.folder / "later").iterdir()) == sorted(
        f"rows.{name}" for name in names
    )


def test_csv_for_excel_in_parts(workshop: Workshop) -> None:
    pages = {"/": [html("=1+1", ["/a", "/b"])], "/a": [html("-12.5")], "/b": [html("@x")]}
    with written_site(workshop.folder, routes=pages) as site:
        workshop.write(title_task(site.url("/"), selectors={"fields": {"title": "h1"}}))
        options = ("--excel", "--delimiter", ";", "--split-rows", "2")
        summary = workshop.crawl("-o", "rows.csv", *options).expect(0).json
    assert summary["outputs"] == ["rows-000001.csv", "rows-000002.csv"]
    texts = [(workshop.folder / name).read_text(encoding="utf-8") for name in summary["outputs"]]
    assert all(text.startswith("\ufefftitle\n") for text in texts)
    cells = sorted(line for text in texts for line in text.splitlines()[1:])
    assert cells == ["'=1+1", "'@x", "-12.5"]


@pytest.mark.parametrize(
    "options", [("--split-rows", "0"), ("--split-mb", "0"), ("--delimiter", "ab"), ("--delimiter", '"')]
)
def test_an_option_of_outputs_that_means_nothing_is_a_usage_error(
    workshop: Workshop, options: tuple[str, str]
) -> None:
    refused = workshop.run("results", "export", "-o", "rows.csv", *options).expect(2)
    assert options[0] in refused.err


def test_a_missing_package_is_told_before_anything_is_fetched(workshop: Workshop) -> None:
    hidden = workshop.folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n")
    with written_site(workshop.folder, routes=linked({"/": []})) as site:
        workshop.write(title_task(site.url("/")))
        refused = workshop.crawl("-o", "rows.parquet", env={"PYTHONPATH": str(hidden)}).expect(2)
        assert 'pip install "smartspider-crawler[parquet]"' in refused.err
        assert site.paths() == []


def test_rows_are_shown_as_a_table_or_as_json_lines(workshop: Workshop) -> None:
    fields = {"title": "h1", "length": {"type": "meta", "expr": "depth"}}
    pages = {
        "/": [html("[red]first[/]\x1b[31m", ["/a", "/b"])],
        "/a": [html("second")],
        "/b": [html("third")],
    }
    with written_site(workshop.folder, routes=pages) as site:
        workshop.write(title_task(site.url("/"), selectors={"fields": fields}))
        workshop.crawl().expect(0)
    table = workshop.run("results", "show").expect(0)
    assert all(text in table.out for text in ("title", "length", "[red]first[/]", "second", "third"))
    assert "\x1b[31m" not in table.out
    assert "3 rows" in table.err
    lines = workshop.run("results", "show", "--json", "--limit", "2", "--fields", "length").expect(0).out
    assert len(lines.splitlines()) == 2
    assert all(list(json.loads(line)) == ["length"] for line in lines.splitlines())
    chosen = workshop.run(
        "results", "show", "--json", "--where", "title=third", "--where", "length=1"
    ).expect(0)
    assert json.loads(chosen.out) == {"title": "third", "length": 1}
    refused = workshop.run("results", "show", "--where", "titel=third").expect(2)
    assert "'title'" in refused.err
