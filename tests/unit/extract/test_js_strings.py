"""String literals of scripts."""

from __future__ import annotations

import pytest

from smartspider.extract.parsing.json_parser import parse_js_string


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ('"a\'b"', "a'b"),
        ("'a\"b'", 'a"b'),
        ("`a\nb`", "a\nb"),
        (r'"\"\\\n\t\0\q"', '"\\\n\t\0q'),
        (r'"\x41\u0042\u{1F600}"', "AB\U0001f600"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\u{FFFFFF}"', "\ufffd"),
        ('"a\\\nb\\\r\nc\\\rd"', "abcd"),
    ],
)
def test_a_literal_is_read_as_a_script_would(literal: str, text: str) -> None:
    assert parse_js_string(f"x={literal};", 2) == (text, 2 + len(literal))


@pytest.mark.parametrize("script", ["", "x", '"open', "'a\nb'", "`${x}`"])
def test_what_is_no_plain_literal_is_not_read(script: str) -> None:
    assert parse_js_string(script, 0) is None
