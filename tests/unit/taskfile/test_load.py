"""Reading task files: JSON and YAML, broken ones and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from smartspider.core.errors import NotFound, TaskInvalid
from smartspider.taskfile.load import load_task, parse_task, read_document

MERGED = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9)
)
"""Merge keys that stand for a hundred million values."""


def refusal(text: str, name: str) -> TaskInvalid:
    with pytest.raises(TaskInvalid) as caught:
        read_document(text, name)
    return caught.value


def test_the_example_of_the_contract_loads_unchanged(seed: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text(json.dumps(seed), encoding="utf-8")
    task = load_task(file)
    assert (task.name, task.concurrency, task.use_cookie, task.cookie_id) == ("zhihu_comments", 10, True, 3)


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ""])
def test_yaml_reads_the_same_as_json(full: dict[str, Any], tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"task{suffix}"
    file.write_text(yaml.safe_dump(full, allow_unicode=True), encoding="utf-8")
    assert load_task(file) == parse_task(full)


def test_a_file_without_a_known_suffix_may_hold_json(small: dict[str, Any]) -> None:
    assert read_document("\n " + json.dumps(small, indent="\t"), "task.txt") == small


def test_a_byte_order_mark_does_not_matter(small: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps(small), encoding="utf-8-sig")
    assert load_task(file) == parse_task(small)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        load_task(tmp_path / "nothing.json")


def test_a_folder_and_a_file_in_another_encoding_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid, match="cannot be read"):
        load_task(tmp_path)
    file = tmp_path / "task.json"
    file.write_text('{"name": "a"}', encoding="utf-16")
    with pytest.raises(TaskInvalid, match="is not UTF-8"):
        load_task(file)


@pytest.mark.parametrize(
    ("text", "line", "column", "hint"),
    [
        ('{\n "name": "a",\n}', 3, 1, "remove the trailing comma"),
        ('{"a": [1,]}', 1, 10, "remove the trailing comma"),
        ("{'a': 1}", 1, 2, "JSON strings use double quotes"),
        ('{"a": True}', 1, 7, "use true, false and null"),
        ('{"a": 1 // one\n}', 1, 9, "JSON has no comments; a .yaml file may have them"),
        ('{"a" 1}', 1, 6, ""),
    ],
)
def test_broken_json_names_line_column_and_the_usual_cause(
    text: str, line: int, column: int, hint: str
) -> None:
    error = refusal(text, "t.json")
    assert error.message.startswith(f"t.json, line {line}, column {column}: ")
    assert error.problems[0].message.startswith(f"line {line}, column {column}: ")
    assert (error.hint, error.problems[0].hint) == (hint, hint)


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("a: [1\nb: 2", 2, 2, "expected ',' or ']'"),
        ("a:\n\t- b", 2, 1, "cannot start any token"),
        ("a: *b", 1, 4, "undefined alias"),
        ("a: 1\n---\nb: 2", 2, 1, "another document"),
        ("a: !!python/object/apply:os.getcwd []", 1, 4, "could not determine a constructor"),
        ("a: 1\nb: \x01", 2, 4, "U+0001 is not allowed"),
        ("? [a]\n: b", 1, 3, "unhashable key"),
    ],
)
def test_broken_yaml_names_line_and_column(text: str, line: int, column: int, reason: str) -> None:
    error = refusal(text, "t.yaml")
    assert error.message.startswith(f"t.yaml, line {line}, column {column}: ")
    assert reason in error.problems[0].message


def test_duplicate_keys_in_json_are_refused_at_every_depth() -> None:
    error = refusal('{"a": 1, "b": [{"c": 1, "c": 2}], "a": 3}', "t.json")
    assert [(problem.path, problem.message) for problem in error.problems] == [
        ("a", "duplicate key 'a'"),
        ("b[0].c", "duplicate key 'c'"),
    ]


def test_duplicate_keys_in_yaml_are_refused_with_their_line() -> None:
    assert (
        refusal("a: 1\nb:\n  c: 1\n  c: 2\n", "t.yaml").message
        == "t.yaml, line 4, column 3: duplicate key 'c'"
    )


def test_a_yaml_merge_may_be_overridden() -> None:
    assert read_document("x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\nz:\n  <<: *x\n", "t.yaml") == {
        "x": {"a": 1},
        "y": {"a": 2},
        "z": {"a": 1},
    }


@pytest.mark.parametrize(
    ("text", "name", "path", "reason"),
    [
        ("a: 2024-01-01", "t.yaml", "a", "is read as a date"),
        ("a: !!set {b}", "t.yaml", "a", "is read as a set"),
        ("a: !!binary aGk=", "t.yaml", "a", "is read as a bytes"),
        ("on: 1", "t.yaml", "", "the key true is not text"),
        ("a: {1: b}", "t.yaml", "a", "the key 1 is not text"),
        ("a: [.nan]", "t.yaml", "a[0]", "nan is not a JSON number"),
        ("a: 2024-13-45", "t.yaml", "", "a value cannot be read"),
        ('{"a": NaN}', "t.json", "a", "nan is not a JSON number"),
        ('{"a": [1e999]}', "t.json", "a[0]", "inf is not a JSON number"),
        ('{"a": "\\ud800"}', "t.json", "a", "a lone surrogate"),
        ('{"\\ud800": 1}', "t.json", "", "a lone surrogate"),
        ("1" * 5000, "t.json", "", "too many digits"),
        ("a: &a [*a]", "t.yaml", "", "nested too deeply or too large"),
        (MERGED, "t.yaml", "", "nested too deeply or too large"),
        ("[" * 100_000, "t.json", "", "nested too deeply"),
        ("[" * 5000, "t.yaml", "", "nested too deeply"),
        ("[" * 200 + "]" * 200, "t.json", "", "nested too deeply"),
        (" \n", "t.json", "", "the document is empty"),
    ],
)
def test_what_json_does_not_have_is_refused(text: str, name: str, path: str, reason: str) -> None:
    problem = refusal(text, name).problems[0]
    assert problem.path == path
    assert reason in problem.message


def test_a_yaml_file_that_unfolds_into_billions_of_values_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "too large" in refusal("\n".join(lines), "t.yaml").problems[0].message


def test_values_that_did_not_come_from_a_file_are_checked_too(small: dict[str, Any]) -> None:
    with pytest.raises(TaskInvalid) as caught:
        parse_task({**small, "entry_urls": [{"url": "http://a/", "meta": {"x": float("nan")}}]})
    assert caught.value.problems[0].path == "entry_urls[0].meta.x"
