"""Cookies as people have them: every format gives the same cookies, and what is none is refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from smartspider.core.cookies.formats import parse_cookies, written_cookies
from smartspider.core.cookies.jar import CookieJar
from smartspider.core.errors import RequestInvalid

NOW = 1_800_000_000.0
LATER, EARLIER = NOW + 3600, NOW - 3600


def har_of(url: str) -> dict[str, Any]:
    request = {"url": url, "headers": [{"name": "Cookie", "value": "__Host-sid=1; __Secure-id=2"}]}
    return {"log": {"entries": [{"request": request}]}}


HAR = {
    "log": {
        "entries": [
            {
                "request": {
                    "url": "https://www.site.example/",
                    "headers": [{"name": "Cookie", "value": "sid=0; theme=dark"}],
                },
                "response": {"headers": [{"name": "Set-Cookie", "value": "sid=1; Path=/"}]},
            },
            {
                "request": {
                    "url": "https://ads.other.example/",
                    "headers": [{"name": "cookie", "value": "t=9"}],
                },
                "response": {},
            },
        ]
    }
}


@pytest.mark.parametrize(
    "written",
    [
        "sid=1; theme=dark",
        "Cookie: sid=1; theme=dark",
        "Set-Cookie: sid=1; Path=/\nSet-Cookie: theme=dark; Max-Age=60; Secure; HttpOnly",
        "sid=1; path=/; HttpOnly\r\ntheme=dark; domain=.site.example",
        "# Netscape HTTP Cookie File\n.site.example\tTRUE\t/\tFALSE\t0\tsid\t1\n"
        f"#HttpOnly_www.site.example\tFALSE\t/\tTRUE\t{LATER:.0f}\ttheme\tdark\n",
        json.dumps(
            [
                {"name": "sid", "value": "1", "domain": ".site.example", "path": "/", "session": True},
                {"name": "theme", "value": "dark", "domain": "www.site.example", "expirationDate": LATER},
                {"name": "t", "value": "9", "domain": ".other.example"},
            ]
        ),
        json.dumps(
            {
                "cookies": [
                    {"name": "sid", "value": "1", "domain": ".site.example", "path": "/", "expires": -1},
                    {"name": "theme", "value": "dark", "domain": "www.site.example", "expires": LATER},
                ],
                "origins": [],
            }
        ),
        '{"sid": "1", "theme": "dark"}',
        json.dumps(HAR),
    ],
)
def test_every_format_gives_the_cookies_that_the_site_gets(written: str) -> None:
    jar = CookieJar(lambda: NOW)
    jar.merge(parse_cookies(written, "site.example", NOW).cookies)
    header = jar.header_for("https://www.site.example/list") or b""
    assert {b"sid=1", b"theme=dark"} <= set(header.split(b"; "))
    assert b"t=9" not in header
    assert jar.header_for("https://other.example/") is None


@pytest.mark.parametrize(
    "written",
    [
        f"# HTTP Cookie File\nsite.example\tFALSE\t/a\tTRUE\t{LATER:.0f}\tsid\t1",
        "__Host-sid=1; __Secure-id=2; theme=dark",
        "Set-Cookie: __Host-sid=1; Path=/; Secure",
        har_of("https://www.site.example/"),
    ],
)
def test_what_is_read_is_written_and_read_again_as_it_is(written: str | dict[str, Any]) -> None:
    first = parse_cookies(written, "site.example", NOW)
    again = parse_cookies(written_cookies(first.cookies, "site.example"), "site.example", NOW)
    assert again.cookies == first.cookies


def test_cookies_of_other_domains_and_expired_ones_are_left_out_and_counted() -> None:
    found = parse_cookies(
        [
            {"name": "sid", "value": "1"},
            {"name": "old", "value": "2", "expires": EARLIER},
            {"name": "t", "value": "3", "domain": "evil-site.example"},
        ],
        "site.example",
        NOW,
    )
    assert [one.name for one in found.cookies] == [b"sid"]
    assert (found.foreign, found.expired) == (1, 1)


def test_a_prefix_in_the_name_keeps_its_promise() -> None:
    (found,) = parse_cookies("__Host-sid=1", "site.example", NOW).cookies
    assert found.is_secure


@pytest.mark.parametrize(
    ("written", "place", "what"),
    [
        ("", "cookies", "none"),
        ("canary", "line 1", "no known format"),
        ("{", "cookies", "JSON"),
        ("[[]]", "cookies.0", "no cookie"),
        ("12", "line 1", "no known format"),
        ('{"sid": {"canary": 1}}', "cookies.sid", "no text"),
        ('[{"name": "a;b", "value": "canary"}]', "cookies.0", "name"),
        ('[{"name": "", "value": "canary"}]', "cookies.0", "name"),
        ('[{"name": "a", "value": "canary\\r\\nX: 1"}]', "cookies.0", "control"),
        (json.dumps([{"name": "a", "value": "canary" * 1000}]), "cookies.0", "longer"),
        ('[{"name": "a", "value": "canary", "domain": "example"}]', "cookies", "other domains"),
        ('[{"name": "a", "value": "canary", "domain": "co.uk"}]', "cookies.0", "co.uk"),
        ('[{"name": "__Host-a", "value": "canary", "domain": "site.co.uk"}]', "cookies.0", "promises"),
        (json.dumps([{"name": "a", "value": "canary", "expires": EARLIER}]), "cookies", "expired"),
        (json.dumps([{"name": f"n{n}", "value": "canary"} for n in range(200)]), "cookies", "180"),
        ("# Netscape HTTP Cookie File\nsite.co.uk\tTRUE\tcanary", "line 2", "columns"),
        ("Set-Cookie: canary", "line 1", "ignore"),
        ([{"name": "a\ud800", "value": "canary"}], "cookies.0", "name"),
        ([{"name": "a", "value": "canary\ud800"}], "cookies.0", "control"),
        ([{"name": "a", "value": "canary", "path": "/\ud800"}], "cookies.0", "path"),
        ([{"name": "a", "value": "canary", "path": "/" * 2000}], "cookies.0", "path"),
        ([{"name": "a", "value": "canary", "domain": "\0.site.co.uk"}], "cookies.0", "domain"),
    ],
)
def test_what_is_no_cookie_is_refused_by_its_place_without_its_value(
    written: str | list[Any], place: str, what: str
) -> None:
    with pytest.raises(RequestInvalid) as refused:
        parse_cookies(written, "site.co.uk", NOW)
    (problem,) = refused.value.problems
    assert problem.path == place
    assert what in problem.line
    assert "canary" not in refused.value.message + problem.line


@pytest.mark.parametrize(
    "written", [None, 1, [1], {"cookies": [1]}, {"log": {"entries": [1, {"request": 2}]}}, har_of("http://[")]
)
def test_json_of_any_shape_is_refused_and_breaks_nothing(written: Any) -> None:
    with pytest.raises(RequestInvalid):
        parse_cookies(written, "site.example", NOW)


def test_a_time_beyond_all_calendars_ends_no_cookie() -> None:
    (found,) = parse_cookies([{"name": "a", "value": "1", "expires": 10**400}], "site.example", NOW).cookies
    assert found.expires_at > LATER
