"""Bytes to HTML: charsets, binary data, media types, foreign characters, pages made to hurt."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.markup_limits import markup_problem
from smartspider.core.pages.rules import FieldRule, FollowRule, ValueRule
from smartspider.extract.parsing.decoding import clean

Read = Callable[..., Extraction]

P: dict[str, FieldRule] = {"p": ValueRule("css", "p")}


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("<p>é€</p>".encode(), "utf-8", "é€"),
        (b"\xef\xbb\xbf<!DOCTYPE html><p>x</p>", "utf-8", "x"),
        ("<p>é</p>".encode("latin-1"), "latin-1", "é"),
        ("<p>日本</p>".encode("shift_jis"), "shift_jis", "日本"),
        ("<p>é</p>".encode("utf-16"), "utf-16", "é"),
        (b"<p>caf\xe9</p>", "utf-8", "caf\ufffd"),
        (b"<p>x</p>", "no-such-charset", "x"),
        (b"<p>x</p>", "base64", "x"),
        ("<p>한국어 페이지</p>".encode(), "UTF8", "한국어 페이지"),
    ],
)
def test_the_charset_says_how_to_read(read: Read, body: bytes, charset: str, expected: str) -> None:
    extraction = read(body, fields=P, charset=charset)
    assert (extraction.items, extraction.cleaned) == ([{"p": expected}], 0)
    assert extraction.has_undecodable is ("\ufffd" in expected)


def test_a_replacement_character_of_the_page_itself_is_no_loss(read: Read) -> None:
    assert not read("<p>\ufffd</p>".encode(), fields=P).has_undecodable
    fields: dict[str, FieldRule] = {"p": ValueRule("jmespath", "p")}
    found = read('{"p": "é"}'.encode(), fields=fields, charset="ascii", content_type="application/json")
    assert (found.items, found.has_undecodable) == ([{"p": "é"}], False)


def test_a_byte_order_mark_does_not_leave_standards_mode(read: Read) -> None:
    html = b"\xef\xbb\xbf<!DOCTYPE html><p class=A>x</p>"
    assert read(html, fields={"p": ValueRule("css", "p.a")}).items == [{"p": None}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=20).filter(lambda body: not set(body) & set(b"<&\x00\r\xed")))
def test_broken_utf8_reads_as_if_decoded_first(read: Read, noise: bytes) -> None:
    body = b"<!DOCTYPE html><p data-x='" + noise.replace(b"'", b"") + b"'>" + noise + b"</p>" + b" " * 400
    fields: dict[str, FieldRule] = {
        "text": ValueRule("css", "p::text", is_raw=True, default=""),
        "attr": ValueRule("css", "p::attr(data-x)", is_raw=True),
    }
    decoded = body.decode(errors="replace").encode()
    assert read(body, fields=fields).items == read(decoded, fields=fields).items


@pytest.mark.parametrize(
    "body",
    [
        b"\x89PNG\r\n\x1a\n" + b"IHDR" * 20,
        b"%PDF-1.7 text all the way",
        bytes(range(256)) * 8,
        random.Random(7).randbytes(5000),
        b"\x00\x01\x02",
    ],
)
def test_binary_data_served_as_html_is_refused(read: Read, body: bytes) -> None:
    with pytest.raises(NotReadable, match="looks like binary data, not HTML"):
        read(body, fields=P)


@pytest.mark.parametrize(
    "content_type", ["application/json", "image/png", "application/pdf", "text/css", "video/mp4"]
)
def test_other_media_types_are_refused(read: Read, content_type: str) -> None:
    with pytest.raises(NotReadable, match=f"the page is {content_type}, not HTML"):
        read("<p>x</p>", fields=P, content_type=f"{content_type}; charset=utf-8")


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "TEXT/HTML; charset=x",
        "application/xhtml+xml",
        "text/plain",
        "application/rss+xml",
        "",
        None,
    ],
)
def test_markup_and_text_are_read(read: Read, content_type: str | None) -> None:
    assert read("<p>x</p>", fields=P, content_type=content_type).items == [{"p": "x"}]


def test_nul_and_surrogates_are_taken_out_and_counted(read: Read) -> None:
    html = b"<p title='a\x00b'>c\x00d \xed\xa0\x80e</p><i>clean</i><a href='/x\x00y'>z</a>"
    fields: dict[str, FieldRule] = {
        "text": ValueRule("css", "p"),
        "title": ValueRule("css", "p::attr(title)"),
        "list": ValueRule("css", "p ::text, i", many=True),
        "clean": ValueRule("css", "i"),
    }
    extraction = read(html, fields=fields, follow=(FollowRule(ValueRule("css", "a"), "default"),))
    assert extraction.items == [{"text": "cd e", "title": "ab", "list": ["cd e", "clean"], "clean": "clean"}]
    assert extraction.cleaned == 3
    assert extraction.links[0].href == "/xy"


def test_surrogates_of_other_charsets_are_taken_out(read: Read) -> None:
    extraction = read(b"<p>a+2AA-b</p>", fields=P, charset="utf-7")
    assert (extraction.items, extraction.cleaned) == ([{"p": "ab"}], 1)


def test_values_of_the_request_and_the_task_are_cleaned(read: Read) -> None:
    fields: dict[str, FieldRule] = {
        "m": ValueRule("meta", "m"),
        "c": ValueRule("const", "x\x00"),
        "d": ValueRule("meta", "none", default="\ud800y"),
    }
    extraction = read("", fields=fields, meta={"m": {"k\x00": ["a\x00", "b"]}})
    assert (extraction.items, extraction.cleaned) == ([{"m": {"k": ["a", "b"]}, "c": "x", "d": "y"}], 1)


@given(st.recursive(st.text(st.characters(codec=None)) | st.integers(), st.lists, max_leaves=5))
def test_a_cleaned_value_can_be_stored(value: Any) -> None:
    cleaned, count = clean(value)
    text = repr(cleaned) if not isinstance(cleaned, str) else cleaned
    assert "\x00" not in text
    text.encode()
    assert count or cleaned == value


def test_references_to_foreign_characters_leave_none(read: Read) -> None:
    text = read("<p>&#0;&#xD800;x</p>", fields=P).items[0]["p"]
    assert text == "\ufffd\ufffdx"


def test_a_page_that_nests_without_end_is_refused(read: Read) -> None:
    with pytest.raises(NotReadable, match="nests its elements too deeply"):
        read(b"<div>" * 100_000, fields=P)
    with pytest.raises(NotReadable, match="nests its elements too deeply"):
        read(b"<div>" * 50_000 + b"</div>" * 50_000, fields=P)


def test_a_large_flat_page_is_not_too_deep() -> None:
    assert markup_problem(b"<div><br><img src=x><p>text<li>item</div>" * 200_000) is None
