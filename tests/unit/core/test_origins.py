"""The origins that secrets are sent to."""

from __future__ import annotations

import pytest

from smartspider.core.requests.origins import OriginTrust, fixed_origin
from smartspider.core.requests.urls import normal_url


@pytest.mark.parametrize(
    ("template", "origin"),
    [
        ("https://api.example/items/{value}", "https://api.example"),
        ("https://API.example:443/?id={value}", "https://api.example"),
        ("http://h:8080/{value}", "http://h:8080"),
        ("https://h", "https://h"),
        ("https://h{value}", None),
        ("https://{city}.example/", None),
        ("https://h:{port}/", None),
        ("https://user{value}@h/", None),
        ("/api/{value}", None),
        ("{value}", None),
        ("//h/{value}", None),
        ("ftp://h/{value}", None),
        (None, None),
    ],
)
def test_an_origin_is_fixed_if_no_page_has_a_say_in_it(template: str | None, origin: str | None) -> None:
    assert fixed_origin(template) == origin


@pytest.mark.parametrize(
    ("source", "target", "goes_on"),
    [
        ("http://h/a", "http://h/b", True),
        ("http://h/a", "https://h/b", True),
        ("https://h/a", "http://h/b", False),
        ("http://h/a", "http://h:8080/", False),
        ("http://h:80/a", "http://h/", True),
        ("https://h:443/", "https://H/", True),
        ("http://h:8080/", "https://h:8080/", False),
        ("http://h:8080/", "https://h/", False),
        ("https://h/", "https://h./", False),
        ("https://h/", "https://www.h/", False),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/", True),
        ("http://127.0.0.1/", "http://2130706433/", True),
        ("http://127.0.0.1/", "http://[::ffff:127.0.0.1]/", False),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", True),
        ("http://[::1]/", "http://[::1]:81/", False),
        ("https://h/", "https://h@evil/", False),
        ("https://h/", "https://user:word@h/", True),
        ("https://h/", "https://h:443@evil/", False),
        ("https://h/", "https://named/x", True),
        ("https://h/", "http://named/x", False),
    ],
)
def test_secrets_go_on_to_the_same_origin_to_its_https_and_to_named_ones(
    source: str, target: str, goes_on: bool
) -> None:
    trust = OriginTrust((), named=["https://named"])
    first, second = normal_url(source), normal_url(target)
    assert first is not None
    assert second is not None
    assert trust.goes_on(first, second) is goes_on


def test_requests_of_the_task_reach_further_than_its_headers() -> None:
    trust = OriginTrust(["http://h/"], requests=["https://api"], named=["https://named"])
    urls = ("http://h/", "https://h/", "https://named/", "https://api/", "https://other/")
    assert [trust.is_for_task(url) for url in urls] == [True, True, True, False, False]
    assert [trust.is_for_requests(url) for url in urls] == [True, True, True, True, False]
