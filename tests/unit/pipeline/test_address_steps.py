"""URLs, telephone numbers, e-mail addresses and languages."""

# Full-width characters are meant as such.
# ruff: noqa: RUF001

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.interfaces.step import StepFailed

One = Callable[..., Any]


@pytest.mark.parametrize(
    ("use", "options", "value", "expected"),
    [
        ("url", {}, "../x y?a=1#top", "http://shop.example/x%20y?a=1"),
        ("url", {}, "//cdn.example/i.png", "http://cdn.example/i.png"),
        ("url", {}, "HTTPS://EXAMPLE.com:443/Ä", "https://example.com/%C3%84"),
        ("url", {}, "#top", "http://shop.example/list/page"),
        ("email", {}, "mailto:Ann%2Bx@Example.COM?subject=hi", "Ann+x@example.com"),
        ("email", {}, "Ann Lee <ann@example.co.uk>", "ann@example.co.uk"),
        ("url", {"fragment": True}, "../x#top", "http://shop.example/x#top"),
        ("url", {"fragment": True}, "#top", "http://shop.example/list/page#top"),
        ("email", {}, " ann@bücher.de ", "ann@bücher.de"),
        ("email", {}, "Write to Ann.Lee+x@Example.com, or call 030 901820.", "Ann.Lee+x@example.com"),
        ("email", {}, "E-Mail:ann@example.com.", "ann@example.com"),
        ("email", {}, "'ann@example.com'", "ann@example.com"),
        ("email", {}, "ann@example.com (Ann, ann@EXAMPLE.com)", "ann@example.com"),
        ("email", {}, "x " * 2_000 + "ann@example.com", "ann@example.com"),
        ("email", {}, "o'neil@example.com x", "o'neil@example.com"),
        ("email", {}, "邮箱ann@example.com电话", "ann@example.com"),
        ("email", {}, "邮箱：ann@example.com，电话", "ann@example.com"),
        ("phone", {"region": "de"}, "030 / 90 18 20", "+4930901820"),
        ("phone", {"region": "CN"}, "138 0013 8000", "+8613800138000"),
        ("phone", {"region": "CN"}, 13800138000, "+8613800138000"),
        ("phone", {}, "tel:+1 (415) 555-2671", "+14155552671"),
        ("language", {}, "This is a plain sentence in English.", "en"),
        ("language", {}, "这是一个普通的句子。", "zh"),
    ],
)
def test_an_address_has_one_spelling(
    one: One, use: str, options: dict[str, Any], value: Any, expected: str
) -> None:
    assert one(use, value, **options) == expected


@pytest.mark.parametrize(
    ("use", "value"),
    [
        *(
            ("url", value)
            for value in ["", " ", "mailto:a@b.de", "javascript:x", "http://", "http://a b/", 5, {}]
        ),
        *(("url", value) for value in ["\ud800", "x" * 70_000]),
        *(
            ("email", value)
            for value in ["", "a", "a@b", "a b @c.de", "a@-b.de", "a@b..de", "@b.de", ".a@b.de", 5]
        ),
        *(
            ("email", value)
            for value in [
                "a" * 65 + "@b.de",
                "a@b.de, c@d.de",
                "a" * 9_000 + "@b.de",
                "@" * 9_000,
                "a@" + "b." * 100_000,
            ]
        ),
        *(("phone", value) for value in ["", "030 901820", "abc", "+1", "1" * 300, 0, -5, True, None, []]),
        *(("language", value) for value in ["", "12 34", 5, "x"]),
    ],
)
def test_what_is_no_address_is_none(one: One, use: str, value: Any) -> None:
    assert isinstance(one(use, value), StepFailed)


def test_the_language_goes_into_a_field_and_leaves_the_text(run: Any) -> None:
    texts = {"title": "Das ist ein schöner deutscher Satz.", "n": "12"}
    done = run([{"use": "language", "fields": ["title"]}], texts)
    assert done.items == [{**texts, "language": "de"}]
    done = run([{"use": "language", "fields": ["n"], "to": "tongue"}], texts)
    assert done.items == [{**texts, "tongue": None}]
    assert done.counts["pipeline[0] language"].emptied == 0


def test_the_language_may_be_demanded(run: Any) -> None:
    done = run([{"use": "language", "fields": ["n"], "on_error": "reject"}], {"n": "12"})
    assert [each.reason for each in done.rejected] == ["n has too few letters to tell its language"]
