"""Entries from files: the requests they make, the task they become, and errors with file and line."""

from __future__ import annotations

import io
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.requests.request import Request
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.entry_files import read_bounded
from smartspider.taskfile.load import load_document, load_task, parse_task
from smartspider.taskfile.model.task import Task, task_spec

PAGES = {"detail": {"selectors": {"fields": {"t": "h1"}}}}


def write(folder: Path, entries: list[Any], **task: Any) -> Path:
    path = folder / "task.json"
    path.write_text(json.dumps({"name": "a", "entry_urls": entries, **task}))
    return path


def load(folder: Path, *entries: Any, **task: Any) -> Task:
    return load_task(write(folder, list(entries), **task))


def requests(folder: Path, *entries: Any, **task: Any) -> tuple[Request, ...]:
    return compile_task(load(folder, *entries, **task)).entries


def problems(folder: Path, *entries: Any, **task: Any) -> list[Problem]:
    with pytest.raises(TaskInvalid) as caught:
        load(folder, *entries, **task)
    return list(caught.value.problems)


def test_urls_of_a_file_stand_between_other_entries_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a/2\nhttp://a/3\n")
    found = requests(tmp_path, "http://a/1", {"file": "urls.txt"}, {"url": "http://a/4"})
    assert [request.url for request in found] == [f"http://a/{number}" for number in (1, 2, 3, 4)]


def test_a_path_is_relative_to_the_task_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "urls.txt").write_text("http://a/1")
    monkeypatch.chdir("/")
    (found,) = requests(tmp_path, {"file": "lists/urls.txt"})
    assert found.url == "http://a/1"


def test_the_options_of_the_entry_apply_to_all_urls(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a/1\nhttp://a/2\n")
    options = {"method": "POST", "headers": {"X-A": "b"}, "priority": 3, "page": "detail", "meta": {"k": 1}}
    for request in requests(tmp_path, {"file": "urls.txt", **options}, pages=PAGES):
        assert (request.page, request.priority, request.extras.method) == ("detail", 3, "POST")
        assert (request.extras.headers, request.extras.meta) == ((("X-A", "b"),), {"k": 1})


def test_columns_are_carried_where_meta_names_them(tmp_path: Path) -> None:
    (tmp_path / "products.csv").write_text("sku,link,name\nA1,http://a/1,Tea\nB2,http://a/2,Cup\n")
    entry = {
        "file": "products.csv",
        "column": "link",
        "meta": {"sku": "{sku}", "from": "list {year}"},
        "body": {"q": "{name}"},
    }
    task = load(tmp_path, entry, variables={"year": 2026})
    first, second = compile_task(task).entries
    assert first.extras.meta == {"sku": "A1", "from": "list 2026"}
    assert (first.extras.method, second.extras.body) == ("POST", b'{"q":"Cup"}')
    assert "link" not in json.dumps(task.as_written())


def test_the_number_of_a_line_is_a_value_for_meta(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("# x\nhttp://a/2\nhttp://a/1\nhttp://a/2\n")
    (tmp_path / "urls.csv").write_text("url,line\nhttp://a/3,L3\n")
    meta = {"meta": {"n": "{line}"}}
    found = requests(tmp_path, {"file": "urls.txt", **meta}, {"file": "urls.csv", "column": "url", **meta})
    made = [(request.url[-1], request.extras.meta["n"]) for request in found]
    assert made == [("2", 2), ("1", 3), ("2", 4), ("3", "L3")]


def test_braces_in_urls_of_a_file_are_literal(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a/?filter={year}\n")
    (found,) = requests(tmp_path, {"file": "urls.txt"}, variables={"year": 2026})
    assert found.url == "http://a/?filter={year}"


def test_standard_input_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"http://a/1\n")))
    assert [request.url for request in requests(tmp_path, {"file": "-"})] == ["http://a/1"]
    assert problems(tmp_path, {"file": "-"})[0].message == "standard input: there are no URLs in it"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"http://a/1\n")))
    assert problems(tmp_path, {"file": "-"}, {"file": "-"})[0].path == "entry_urls[1].file"


def test_the_same_urls_are_the_same_task_whatever_the_file_looks_like(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("http://a/1\nhttp://a/2\n")
    (tmp_path / "two.csv").write_bytes(b"\xef\xbb\xbfurl;n\r\nhttp://a/1;1\r\n# x\r\nhttp://a/2;2\r\n")
    (tmp_path / "three.txt").write_text("http://a/1\nhttp://a/3\n")
    one = load(tmp_path, {"file": "one.txt"})
    two = load(tmp_path, {"file": "two.csv", "column": "url"})
    three = load(tmp_path, {"file": "three.txt"})
    assert task_spec(one) == task_spec(two)
    assert task_spec(one).spec_hash != task_spec(three).spec_hash


def test_a_loaded_task_needs_its_file_no_more(tmp_path: Path) -> None:
    (tmp_path / "urls.csv").write_text("url,sku\nhttp://a/1,A1\n")
    task = load(tmp_path, {"file": "urls.csv", "column": "url", "meta": {"sku": "{sku}"}})
    assert task.as_written()["entry_urls"] == [
        {"urls": ["http://a/1"], "values": {"sku": ["A1"]}, "meta": {"sku": "{sku}"}}
    ]
    assert parse_task(json.loads(task_spec(task).spec)) == task


def test_wrong_urls_are_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("# x\nhttp://a/1\nshop.com/2\nhttp://\n")
    first, second = problems(tmp_path, "http://a/", {"file": "urls.txt"})
    assert (first.path, second.path) == ("entry_urls[1]", "entry_urls[1]")
    assert first.message.startswith('urls.txt, line 3: "shop.com/2" ')
    assert first.hint == "write https://shop.com/2"
    assert second.message.startswith("urls.txt, line 4: ")


LISTED = "http://a/1\nhtp:/a/2\nhttp://a/3\nnot a url\nhttps://ann:s3cr3t@\n" + "http://a/6\n" * 3


def test_a_wrong_line_of_a_list_of_urls_is_shown_without_credentials(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(LISTED)
    found = [problem.message for problem in problems(tmp_path, {"file": "urls.txt"})]
    assert found == [
        'urls.txt, line 2: "htp:/a/2" is not an http(s) URL',
        'urls.txt, line 4: "not a url" is not an http(s) URL',
        "urls.txt, line 5: the line is not a URL that can be fetched",
    ]


def test_wrong_lines_are_left_out_on_request_and_counted(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(LISTED + "b\n")
    (tmp_path / "urls.csv").write_text("url,sku\nhttp://a/7,A7\nx,A8\nhttp://a/9,A9\n")
    entries = [{"file": "urls.txt"}, {"file": "urls.csv", "column": "url", "meta": {"sku": "{sku}"}}]
    skipped: list[str] = []
    task = load_task(write(tmp_path, entries), on_skipped=skipped.append)
    made = [(request.url, request.extras.meta) for request in compile_task(task).entries]
    assert [url for url, _ in made] == [f"http://a/{number}" for number in (1, 3, 6, 7, 9)]
    assert [meta["sku"] for _, meta in made[3:]] == ["A7", "A9"]
    assert skipped == [
        'urls.txt: 4 of 9 lines are not URLs and are skipped: line 2 ("htp:/a/2"), line 4 ("not a url"),'
        " line 5 and 1 more",
        'urls.csv: 1 of 3 lines are not URLs and are skipped: line 3 ("x")',
    ]


def test_a_file_without_any_url_is_refused_even_if_wrong_lines_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("a\nb\n")
    with pytest.raises(TaskInvalid, match="line 1: the line is not an http"):
        load_task(write(tmp_path, [{"file": "urls.txt"}]), on_skipped=print)


def test_the_content_of_a_file_that_is_no_list_of_urls_is_not_shown(tmp_path: Path) -> None:
    secrets = ["root:x:0:0:root:/root:/bin/bash", "ada:x:1000:1000:Ada,,,:/home/ada", "token=s3cr3t"]
    (tmp_path / "passwd").write_text("\n".join([*secrets, "postgres//u:p4ss@db.example/x"]))
    for entry in ({"file": "passwd"}, {"file": "passwd", "column": "url"}):
        found = problems(tmp_path, entry)
        assert "passwd, line 1: " in found[0].message
        shown = " ".join(f"{one.message} {one.hint}" for one in found)
        for text in ("root", "ada", "s3cr3t", "p4ss"):
            assert text not in shown, entry


def test_a_file_is_bounded_in_size_and_its_lines_in_length(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("http://a/1\nhttp://a/" + "x" * 200_000)
    assert "line 2" in problems(tmp_path, {"file": "urls.txt"})[0].message
    assert read_bounded(BytesIO(b"x" * 1000), 1000) == b"x" * 1000
    with pytest.raises(OSError, match="larger than 999 bytes"):
        read_bounded(BytesIO(b"x" * 1000), 999)


def test_an_entry_longer_than_max_url_length_is_refused_with_its_line(tmp_path: Path) -> None:
    long = "http://a/" + "x" * 3000
    (tmp_path / "urls.txt").write_text(f"http://a/1\n{long}\n")
    (found,) = problems(tmp_path, {"file": "urls.txt"})
    assert (found.path, "line 2" in found.message) == ("entry_urls[0]", True)
    for entry in (
        long,
        {"url": long},
        {"urls": [long]},
        {"url": "http://a/{n}", "each": {"n": ["x" * 3000]}},
    ):
        (found,) = problems(tmp_path, entry)
        assert "max_url_length" in found.hint
    assert requests(tmp_path, long, traps={"max_url_length": 4000})


def test_a_list_with_thousands_of_mistakes_is_reported_in_part(tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("".join(f"shop.com/{number}\n" for number in range(3000)))
    assert len(problems(tmp_path, {"file": "urls.txt"})) == 100
    pages = problems(tmp_path, *[f"http://a/{number}" for number in range(3000)], pages=PAGES)
    assert len(pages) == 100


@pytest.mark.parametrize(
    ("entry", "path", "message"),
    [
        ({"file": "none.txt"}, "entry_urls[0].file", "there is no file none.txt"),
        ({"file": "."}, "entry_urls[0].file", ". cannot be read"),
        ({"file": "/dev/zero"}, "entry_urls[0].file", "not a regular file"),
        ({"file": "u\0.txt"}, "entry_urls[0].file", "not a regular file"),
        ({"file": "urls.csv", "column": "link"}, "entry_urls[0]", "urls.csv, line 1: there is no column"),
        ({"file": "urls.csv", "column": "url", "meta": {"a": "{skuu}"}}, "entry_urls[0].meta", "no column"),
        ({"file": "urls.csv", "column": "url", "page": "x"}, "entry_urls[0].page", "there is no page type"),
        ({"file": "urls.csv", "colum": "url"}, "entry_urls[0].colum", "unknown key 'colum'"),
        ({"file": "urls.csv", "url": "http://a/"}, "entry_urls[0].url", "unknown key 'url'"),
    ],
)
def test_a_mistake_in_a_file_entry_is_one_problem(
    tmp_path: Path, entry: dict[str, Any], path: str, message: str
) -> None:
    (tmp_path / "urls.csv").write_text("url,sku\nhttp://a/1,A1\n")
    (found,) = problems(tmp_path, entry)
    assert found.path == path
    assert message in found.message


def test_a_file_is_read_for_a_task_file_only() -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({"name": "a", "entry_urls": [{"file": "/etc/passwd"}]})
    (found,) = caught.value.problems
    assert found.path == "entry_urls[0].file"
    assert "urls" in found.hint


def test_overrides_apply_before_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("http://a/other")
    path = write(tmp_path, [{"file": "urls.txt"}])
    document: Any = load_document(path, ["entry_urls[0].file=other.txt"]).document
    assert document["entry_urls"] == [{"urls": ["http://a/other"]}]
