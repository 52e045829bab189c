"""Masking for readers who may not see secrets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.redaction.masking import is_harmless_body, mask_body, mask_header, mask_text, mask_view


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://h/?page=2&q=tea&lang=en&id=1042", None),
        ("http://h/list?size=xl&dir=1&gtin=17", None),
        ("http://h/?id=8a7f3c2e19b04d56a1c3", "http://h/?id=[redacted]"),
        ("http://h/?id=2024-05-17-a-long-slug-of-words", None),
        ("http://h/?x=abcd", "http://h/?x=[redacted]"),
        ("http://h/?x=abc&y=&z", None),
        ("http://h/?a=1#access_token=abcdef", "http://h/?a=1#access_token=[redacted]"),
        ("http://h/?%61pi_key=abcdef&p=2", "http://h/?%61pi_key=[redacted]&p=2"),
        ("see /login?next=home&code=x-y-z, then", "see /login?next=home&code=[redacted] then"),
        ("http://user:word@h/", "http://[redacted]@h/"),
        ("Disallow: /*?sort=", None),
        ("http 503", None),
        ("", None),
    ],
)
def test_query_parameters_are_masked_unless_they_are_harmless(text: str, shown: str | None) -> None:
    assert mask_text(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Accept", "text/html", "text/html"),
        ("accept-LANGUAGE", "en", "en"),
        ("Sec-Fetch-Site", "none", "none"),
        ("Referer", "http://h/?sid=abcdef", "http://h/?sid=[redacted]"),
        ("X-Anything", "1234567", "[redacted]"),
        ("X-Anything", "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
    ],
)
def test_headers_are_masked_unless_they_are_harmless(name: str, value: str, shown: str) -> None:
    assert mask_header(name, value) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"query": "{ tea }", "variables": {"first": 20, "pw": "word"}}, {"pw": "[redacted]"}),
        ("q=tea&page=2", "q=tea&page=2"),
        ("q=tea&login=ann-b", "q=tea&login=[redacted]"),
        ('{"login":"ann-b","page":2}', '{"login":"[redacted]","page":2}'),
        ("<xml/>", "[redacted]"),
        ([{"pin": 123456}, None, True], [{"pin": "[redacted]"}, None, True]),
    ],
)
def test_bodies_are_masked_value_by_value(body: Any, shown: Any) -> None:
    masked = mask_body(body)
    if isinstance(body, dict):
        assert masked == {**body, "variables": {"first": 20, **shown}}
        return
    assert masked == shown
    sent = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    assert is_harmless_body(sent) is (masked == body)


class Inner(msgspec.Struct, frozen=True):
    url: str
    data: dict[str, str]


class Outer(msgspec.Struct, frozen=True):
    items: list[Inner]
    reason: str
    fields: dict[str, Any]
    spec: msgspec.Raw


def test_an_answer_is_masked_wherever_it_has_text_but_not_what_pages_contain() -> None:
    url = "http://h/?code=abcdef"
    raw = msgspec.Raw(b'{"url":"http://h/?code=abcdef"}')
    shown = mask_view(Outer([Inner(url, {"link": url})], f"see {url}", {"a": [url], "n": 1}, raw))
    hidden = "http://h/?code=[redacted]"
    assert shown == Outer([Inner(hidden, {"link": url})], f"see {hidden}", {"a": [hidden], "n": 1}, raw)
