"""Templates, query parameters and bodies: the parts that requests are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.requests.bodies import (
    FORM,
    json_body,
    param_of,
    value_at,
    with_content_type,
    with_url_param,
    with_value,
)
from smartspider.core.requests.templates import (
    fill_form,
    fill_header,
    fill_json,
    fill_text,
    fill_url,
    placeholders_in,
)
from smartspider.core.requests.urls import normal_url

VALUES: dict[str, Any] = {
    "a": "x/y z&q=1#f",
    "n": 7,
    "none": None,
    "seller": {"name": "Öl"},
    "list": [1, "b"],
    "base": "https://h.example/r",
    "sly": "{n}",
    "yes": True,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{n}-{n}", "7-7"),
        ("<{none}>", "<>"),
        ("{seller.name}", "Öl"),
        ("{list} {yes}", '[1,"b"] true'),
        ("{unknown} {} { n } {{n}} }{", "{unknown} {} { n } {7} }{"),
        ("{sly}", "{n}"),
        ("{seller.name.more} {n.x}", "{seller.name.more} {n.x}"),
    ],
)
def test_names_stand_for_values_and_other_braces_stay(template: str, text: str) -> None:
    assert fill_text(template, VALUES) == text


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("http://h/{a}", "http://h/x%2Fy%20z%26q%3D1%23f"),
        ("http://h/?q={a}&n={n}", "http://h/?q=x%2Fy%20z%26q%3D1%23f&n=7"),
        ("{base}/{n}", "https://h.example/r/7"),
        ("{none}/x", "/x"),
        ("/api/{seller.name}", "/api/%C3%96l"),
        ("http://h/{unknown}", "http://h/{unknown}"),
        ("{unknown}/{n}", "{unknown}/7"),
    ],
)
def test_values_cannot_change_the_form_of_a_url_unless_it_begins_with_them(template: str, url: str) -> None:
    assert fill_url(template, VALUES) == url


@given(st.text())
def test_no_value_adds_a_parameter_or_leaves_its_path(value: str) -> None:
    url = normal_url(fill_url("http://h.example/a/{v}?q={v}", {"v": value.encode(errors="replace").decode()}))
    assert url is not None
    assert url.startswith("http://h.example/")
    assert url.count("?") == 1
    assert "&" not in url


def test_json_keeps_the_type_of_a_value_that_is_all_of_a_text() -> None:
    template = {"{n}": "{n}", "in": ["{n}!", "{list}", {"x": "{none}"}], "same": [1, None, True, "{other}"]}
    assert fill_json(template, VALUES) == {
        "{n}": 7,
        "in": ["7!", [1, "b"], {"x": None}],
        "same": [1, None, True, "{other}"],
    }


def test_a_header_cannot_be_split_by_a_value() -> None:
    assert fill_header("Bearer {v}", {"v": "a\r\nX-Evil: 1\0"}) == "Bearer a X-Evil: 1"


def test_a_form_is_encoded_as_forms_are() -> None:
    assert fill_form("q={a}", VALUES) == "q=x%2Fy+z%26q%3D1%23f"


def test_names_are_found_in_all_texts() -> None:
    assert list(placeholders_in({"x": ["{a}", {"y": "{b}{c}"}], "{key}": 1})) == ["a", "b", "c"]
    assert list(placeholders_in(None)) == []


@pytest.mark.parametrize(
    ("url", "changed"),
    [
        ("http://h/l", "http://h/l?page=2"),
        ("http://h/l?q=a", "http://h/l?q=a&page=2"),
        ("http://h/l?page=1&q=%C3%A9+x&B", "http://h/l?page=2&q=%C3%A9+x&B"),
        ("http://h/l?a=1&page=7&page=8&z", "http://h/l?a=1&page=2&z"),
        ("http://h/l?p%61ge=1", "http://h/l?page=2"),
        ("http://h/l?pages=1&xpage=2", "http://h/l?pages=1&xpage=2&page=2"),
        ("http://h/l?", "http://h/l?page=2"),
    ],
)
def test_a_parameter_is_replaced_in_place_and_the_rest_keeps_its_spelling(url: str, changed: str) -> None:
    assert with_url_param(url, "page", "2") == changed
    assert param_of(changed, "page") == "2"


@given(st.text(min_size=1), st.text())
def test_a_parameter_that_was_set_is_read_back(name: str, value: str) -> None:
    name, value = (text.encode(errors="replace").decode() for text in (name, value))
    assert param_of(with_url_param("http://h/?a=1&b=2", name, value), name) == value


def test_a_parameter_that_is_not_there_has_no_value() -> None:
    assert param_of("http://h/?a=1&bb", "b") is None
    assert param_of("http://h/", "b") is None
    assert param_of("http://h/?b", "b") == ""


JSON_BODY = b'{"query":"q","variables":{"first":2,"after":null}}'


def test_a_cursor_goes_deep_into_a_json_body_and_nothing_else_changes() -> None:
    changed = with_value(JSON_BODY, (), "variables.after", "c2")
    assert changed == b'{"query":"q","variables":{"first":2,"after":"c2"}}'
    assert value_at(changed, "variables.after") == "c2"
    assert value_at(JSON_BODY, "variables.after") is None


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        (None, "a", {"a": [1]}),
        (b"", "a.b", {"a": {"b": [1]}}),
        (b'{"a":null}', "a.b", {"a": {"b": [1]}}),
    ],
)
def test_objects_that_lack_are_made(body: bytes | None, path: str, expected: object) -> None:
    changed = with_value(body, (), path, [1])
    assert changed is not None
    assert json.loads(changed) == expected


@pytest.mark.parametrize("body", [b"[1]", b'"x"', b"no json", b'{"a":1}', b'{"a":[]}', b"[" * 100_000])
def test_a_body_without_room_for_the_value_is_told(body: bytes) -> None:
    assert with_value(body, (), "a.b", "c") is None
    assert value_at(body, "a.b") is None


def test_a_form_body_has_its_field_replaced() -> None:
    headers = (("content-type", f"{FORM}; charset=utf-8"),)
    assert with_value(b"q=a+b&page=1", headers, "page", 2) == b"q=a+b&page=2"


def test_a_content_type_is_only_added_where_there_is_none() -> None:
    assert with_content_type("a/b", (("X", "1"),)) == (("X", "1"), ("Content-Type", "a/b"))
    assert with_content_type("a/b", (("content-TYPE", "c/d"),)) == (("content-TYPE", "c/d"),)


def test_json_is_sent_compact_and_in_its_own_order() -> None:
    assert json_body({"b": 1, "a": "ü", "s": "\ud800"}) == '{"b":1,"a":"ü","s":"?"}'.encode()
