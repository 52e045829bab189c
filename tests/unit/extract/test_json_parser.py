"""JSON out of bodies and scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.extract.parsing.json_parser import DEEPEST, InvalidJson, find_json, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('[]{}"\\ab\u20ac\n', max_size=6),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text('[]{}"\\k', max_size=4), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_whole_bodies_are_read(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("\ufeff[1]", [1]),
        ('cb({"a": 1})', {"a": 1}),
        ('/**/ window.x.cb_1( {"a": ")"} ) ;\n', {"a": ")"}),
        (")]}',\n[1]", [1]),
        ("while(1);[1]", [1]),
        ("for(;;);{}", {}),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        (r'"\ud800"', "\ud800"),
        ("7", 7),
    ],
)
def test_wrapped_and_odd_bodies_are_read(body: str, expected: Any) -> None:
    assert read_json(body.encode()) == expected


def test_integers_are_exact_up_to_a_length_and_refused_in_plain_words_beyond() -> None:
    for number in (2**63, 2**64, -(2**63) - 1, 10**4000):
        assert read_json(b'{"n": %d}' % number) == {"n": number}
    with pytest.raises(InvalidJson, match="an integer in it has more than 4,000 digits"):
        read_json(b'{"n": %s}' % (b"9" * 6000))
    with pytest.raises(InvalidJson, match="the number 1e999 is out of range"):
        read_json(b'{"n": 1e999}')
    with pytest.raises(InvalidJson, match="NaN is not a JSON value"):
        read_json(b'{"n": NaN}')


@pytest.mark.parametrize(
    "body", ["", "x", "{", "cb({)", "cb({}) x", "cb({}", "[1] 2", "NaN", "[Infinity]", "1e999", "{'a': 1}"]
)
def test_what_is_not_json_is_refused(body: str) -> None:
    with pytest.raises(InvalidJson):
        read_json(body.encode())


@given(
    st.lists(
        st.sampled_from(["[", '{"":', '["]", ', '{"}": ', '["[", ', r'["\"]", ']), min_size=1, max_size=400
    )
)
def test_depth_is_counted_exactly(openings: list[str]) -> None:
    closings = ["]" if opening[0] == "[" else "}" for opening in reversed(openings)]
    body = "".join(openings) + "0" + "".join(closings)
    if len(openings) <= DEEPEST:
        read_json(body.encode())
    else:
        with pytest.raises(InvalidJson, match="deeper"):
            read_json(body.encode())


@pytest.mark.parametrize("part", ["{}", "[[[]]]", '{"a": [{"b": ["]"]}]}', '"["'])
def test_long_lists_are_not_deep(part: str) -> None:
    assert len(read_json(f"[{', '.join([part] * 5000)}]".encode())) == 5000


@pytest.mark.parametrize("depth", [250, 990, 100_000])
@pytest.mark.parametrize("start", ["", "\ufeff", "cb("])
def test_endless_nesting_is_refused(depth: int, start: str) -> None:
    end = ")" if start == "cb(" else ""
    with pytest.raises(InvalidJson, match="deeper"):
        read_json((start + "[" * depth + "]" * depth + end).encode())
    with pytest.raises(InvalidJson):
        find_json("x = " + "[" * depth + "]" * depth)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2] ; more()", [1, 2]),
        ('window.X = {"a": "};"};\nvar y = {};', {"a": "};"}),
        ("var a = [1], b = [2]", [1]),
        ('if (a[0]) { x = {"b": 1} }', {"b": 1}),
        (r'self.y = JSON.parse("{\"a\": \"\\u00e9\"}")', {"a": "é"}),
        (r"""z = JSON.parse('{"a": "it\'s \x41 \u{1F600}"}')""", {"a": "it's A 😀"}),
        (r'z = JSON.parse("{\"a\": \"\ud83d\ude00\"}")', {"a": "😀"}),
        ('<!-- {"a": 1} -->', {"a": 1}),
        ('//<![CDATA[\n{"a": 1}\n//]]>', {"a": 1}),
        ('push({"a": 1})', {"a": 1}),
    ],
)
def test_the_first_value_in_a_script_is_found(text: str, expected: Any) -> None:
    assert find_json(text) == expected


@pytest.mark.parametrize("text", ["", "var x = 1", "x = {a: 1}", "JSON.parse(y)", "x = {", "JSON.parse('{')"])
def test_a_script_without_json_has_none(text: str) -> None:
    with pytest.raises(InvalidJson):
        find_json(text)


@pytest.mark.parametrize(
    "text", ["{" * 200_000, "[1," * 100_000, "x = {" * 100_000, '{"a' * 100_000, "JSON.parse('" * 9999]
)
@pytest.mark.timeout(10)
def test_text_made_to_hurt_takes_no_time(text: str) -> None:
    with pytest.raises(InvalidJson):
        find_json(text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "body",
    [
        " " * 1_000_000 + "x",
        "cb({})" + " " * 1_000_000 + "x",
        "a" * 1_000_000,
        "/*" * 500_000,
        "cb(" * 300_000,
        "9" * 9999,
    ],
)
def test_bodies_made_to_hurt_take_no_time(body: str) -> None:
    with pytest.raises(InvalidJson):
        read_json(body.encode())
