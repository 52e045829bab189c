"""`${NAME}` in headers and bodies stands for a secret until the request is sent."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import pytest

from smartspider.core.requests.bodies import FORM, JSON
from smartspider.core.requests.request import Extras
from smartspider.core.requests.request_headers import has_secrets, without_secrets
from smartspider.core.requests.secrets import (
    escape_references,
    fill_secrets,
    malformed_reference,
    names_in_requests,
)
from smartspider.core.requests.templates import fill_body, fill_form, fill_header, fill_json_body

VALUES = {"KEY": "s3cret", "ODD": 'a"b\\c&d=e f'}


def sent_header(text: str) -> str:
    headers, _ = fill_secrets(Extras(headers=(("X", text),)), VALUES)
    return headers[0][1]


def sent_body(text: str, kind: str = "text/plain") -> str:
    _, body = fill_secrets(Extras("POST", (("Content-Type", kind),), text.encode()), VALUES)
    assert body is not None
    return body.decode()


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Bearer ${KEY}", "Bearer s3cret"),
        ("${KEY}${KEY}", "s3crets3cret"),
        ("$${KEY}", "${KEY}"),
        ("$$${KEY}", "$${KEY}"),
        ("{key} $KEY ${", "{key} $KEY ${"),
        ("${MISSING}", "${MISSING}"),
        ("plain", "plain"),
    ],
)
def test_references_are_replaced_when_sent(written: str, sent: str) -> None:
    assert sent_header(written) == sent
    assert sent_body(written) == sent


def test_a_value_cannot_change_the_structure_of_a_body() -> None:
    assert json.loads(sent_body('{"k": "x${ODD}"}', f"{JSON}; charset=utf-8")) == {"k": f"x{VALUES['ODD']}"}
    assert parse_qs(sent_body("a=1&k=${ODD}", FORM)) == {"a": ["1"], "k": [VALUES["ODD"]]}


def test_bytes_that_are_no_text_are_sent_unchanged() -> None:
    _, body = fill_secrets(Extras("POST", (), b"\xff\x00${KEY}\xfe"), VALUES)
    assert body == b"\xff\x00s3cret\xfe"


@pytest.mark.parametrize("value", ["${KEY}", "$${KEY}", "$", "{KEY}", "$$", "a${b"])
def test_a_value_of_a_page_never_becomes_a_reference(value: str) -> None:
    values = {"a": value, "b": "{KEY}", "price": "9"}
    for template in ("{a}", "x{a}y", "{a}{b}", "$ {a}{price}"):
        plain = template.replace("{a}", value).replace("{b}", "{KEY}").replace("{price}", "9")
        assert sent_header(fill_header(template, values)) == plain
        assert sent_body(fill_body(template, values)) == plain
        assert sent_body(fill_json_body([template], values)[0]) == plain
    form = sent_body(f"v={fill_form('{a}{b}', values)}", FORM)
    assert parse_qs(form) == {"v": [f"{value}{{KEY}}"]}


def test_a_template_leaves_references_and_escapes_alone() -> None:
    values = {"KEY": "wrong", "q": "tea"}
    assert fill_header("${KEY} {q} $${KEY}", values) == "${KEY} tea $${KEY}"
    assert fill_json_body({"k": "${KEY}", "q": "{q}", "n": ["{q}-${KEY}"]}, values) == {
        "k": "${KEY}",
        "q": "tea",
        "n": ["tea-${KEY}"],
    }


def test_whole_values_of_any_type_are_escaped_deeply() -> None:
    values = {"v": {"a${KEY}": ["${KEY}", 1, None]}}
    filled = json.dumps(fill_json_body("{v}", values))
    assert json.loads(sent_body(filled, JSON)) == values["v"]


def test_escaping_is_undone_when_sent() -> None:
    for text in ("${KEY}", "$${KEY}", "$$${", "a$"):
        assert sent_header(escape_references(text)) == text


def test_names_are_found_in_headers_and_bodies() -> None:
    requests = [
        Extras(headers=(("A", "${ONE} $${NOT}"),)),
        Extras("POST", (), b'{"${TWO}": "${THREE}"}'),
        Extras(),
    ]
    assert names_in_requests(requests) == {"ONE", "TWO", "THREE"}


@pytest.mark.parametrize(
    ("text", "found"),
    [("${my-key}", "${my-key}"), ("${}", "${}"), ("a ${1}", "${1}"), ("${KEY}", None), ("$${x y}", None)],
)
def test_a_reference_that_names_nothing_is_found(text: str, found: str | None) -> None:
    assert malformed_reference(text) == found


def test_a_header_that_refers_to_a_secret_is_one_whatever_its_name() -> None:
    headers = (("Accept-Language", "${KEY}"), ("Accept", "*/*"))
    assert has_secrets(headers)
    assert without_secrets(headers) == (("Accept", "*/*"),)
