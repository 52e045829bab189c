"""Steps on text."""

# Characters that look like others are what is tested here.
# ruff: noqa: RUF001

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from smartspider.interfaces.step import StepFailed

One = Callable[..., Any]


@pytest.mark.parametrize(
    ("use", "options", "value", "expected"),
    [
        ("trim", {}, "  a b \n", "a b"),
        ("trim", {}, "\u200b \ufeffü\u3000\u200b", "ü"),
        ("trim", {}, "ü", "ü"),
        ("trim", {}, "   ", ""),
        ("whitespace", {}, " a \t\n b  c ", "a b c"),
        ("whitespace", {}, "a\u00a0\u3000b\u200bc", "a bc"),
        ("whitespace", {}, "a b", "a b"),
        ("unicode", {}, "e\u0301", "é"),
        ("unicode", {"form": "NFKC"}, "Ｆｕｌｌ", "Full"),
        ("unicode", {"form": "NFD"}, "é", "e\u0301"),
        ("lower", {}, "ÀB", "àb"),
        ("upper", {}, "straße", "STRASSE"),
        ("replace", {"pattern": r"\s+", "with": "_"}, "a b  c", "a_b_c"),
        ("replace", {"pattern": r"(\d+)-(\d+)", "with": r"\2-\1"}, "1-2", "2-1"),
        ("replace", {"pattern": "x"}, "axb", "ab"),
        ("extract", {"pattern": r"\d+"}, "a12b34", "12"),
        ("extract", {"pattern": r"#(\d+)"}, "a #34", "34"),
        ("extract", {"pattern": r"(?P<y>\d+)/(?P<m>\d+)"}, "2026/1", {"y": "2026", "m": "1"}),
        ("extract", {"pattern": r"^\d"}, 42, "4"),
        ("split", {}, "a, b,,c ", ["a", "b", "c"]),
        ("split", {"sep": " / "}, "a / b/c", ["a", "b/c"]),
        ("split", {}, ["a,b", "c"], ["a", "b", "c"]),
        ("join", {}, ["a", None, 1, {"x": True}], 'a, 1, {"x": true}'),
        ("join", {"sep": ""}, ["a", "b"], "ab"),
        ("join", {}, "text", "text"),
        ("html_text", {}, "<p>a <b>b</b>\n c</p>d<br>e<script>x()</script>", "a b c\nd\ne"),
        ("html_text", {}, "<table><tr><td>1<td>2<tr><td>3", "1 2\n3"),
        (
            "html_text",
            {},
            "<p>a</p><pre>def f():\n    return 1\n\n\tx  \n</pre>b",
            "a\ndef f():\n    return 1\n\n\tx\nb",
        ),
        ("html_text", {}, "x<pre>\n a <b>b\r\n  c</b> d</pre>", "x\n a b\n  c d"),
        ("html_text", {}, "<textarea>l1\nl2</textarea><pre> </pre>e", "l1\nl2\ne"),
        ("html_text", {}, "<pre>a\ufdd1b\ufdd3c\n d</pre>", "abc\n d"),
        ("html_text", {}, "<details><summary>s</summary>t</details><dl><dt>a<dd>b</dl>", "s\nt\na\nb"),
        ("html_text", {}, "a &lt; b &amp; c", "a < b & c"),
        ("html_text", {}, "<head><title>t</title><style>s</style></head><svg><style>x</style></svg>b", "b"),
        ("html_text", {}, " plain \n text ", "plain text"),
        ("markdown", {}, "<h1>A</h1><style>x</style><p><b>c</b></p><li>1<li>2", "# A\n\n**c**\n\n- 1\n- 2"),
        ("markdown", {}, "<a href='/x'>l</a>", "[l](/x)"),
        ("template", {"text": "https://x/{value}?a={b}"}, 12, "https://x/12?a="),
    ],
)
def test_a_text_becomes_what_the_step_promises(
    one: One, use: str, options: dict[str, Any], value: Any, expected: Any
) -> None:
    given = {("with_" if name == "with" else name): option for name, option in options.items()}
    assert one(use, value, **given) == expected


@pytest.mark.parametrize("use", ["trim", "whitespace", "unicode", "lower", "upper", "html_text", "markdown"])
@pytest.mark.parametrize("value", [1, 1.5, True, {"a": " b "}])
def test_what_is_not_text_passes_a_text_step(one: One, use: str, value: Any) -> None:
    assert one(use, value) is value


def test_a_pattern_that_does_not_match_extracts_nothing(one: One) -> None:
    failed = one("extract", "abc", pattern=r"\d")
    assert isinstance(failed, StepFailed)
    assert failed.reason == "does not match"


def test_a_group_that_takes_no_part_in_the_match_is_null(one: One) -> None:
    assert one("extract", "b", pattern="(a)?b") is None


@pytest.mark.parametrize(
    ("use", "value", "reason"),
    [
        ("unicode", "a" + "\u0301\u0316" * 500_000, "has too many combining marks in a row"),
        ("html_text", "<div>" * 100_000 + "x", "is HTML that nests its elements too deeply to be read"),
        ("markdown", "<div>" * 4_000 + "x", "is HTML that is nested too deep"),
        ("markdown", "x" * 2_000_001, "is too long to become Markdown"),
        ("split", "," * 1_000_000, "has more than 100000 parts"),
        ("html_text", "<br>" * 200_000, "is HTML with too many tags"),
    ],
)
def test_a_text_made_to_hurt_is_refused_in_no_time(one: One, use: str, value: str, reason: str) -> None:
    started = time.process_time()
    failed = one(use, value)
    assert isinstance(failed, StepFailed)
    assert failed.reason == reason
    assert time.process_time() - started < 10


@pytest.mark.parametrize("use", ["trim", "whitespace", "unicode", "lower", "html_text"])
@pytest.mark.parametrize("unit", [" a", "\u200b ", "é\n", "&amp;", "<br>", "\x00", "\ud800"])
def test_ten_megabytes_are_a_matter_of_a_moment(one: One, use: str, unit: str) -> None:
    size = 10_000_000 if use != "html_text" or unit != "<br>" else 200_000
    started = time.process_time()
    one(use, unit * (size // len(unit)))
    assert time.process_time() - started < 10


def test_text_cannot_be_blown_up_by_a_replacement(one: One) -> None:
    failed = one("replace", "a" * 1_000_000, pattern="a", with_="b" * 1000)
    assert isinstance(failed, StepFailed)
    assert failed.reason == "would grow too long"
    assert one("replace", "a" * 1_000_000, pattern="c", with_="b" * 1000) == "a" * 1_000_000
