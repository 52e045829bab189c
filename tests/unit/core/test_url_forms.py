"""URLs: the normal form that is fetched, the canonical form that is compared, and the parts of both."""

from __future__ import annotations

from random import Random
from urllib.parse import unquote_plus

import ada_url
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from smartspider.core.requests.urls import (
    TRACKING_PARAMS,
    CanonicalRules,
    authority_of,
    canonical_url,
    host_of,
    normal_url,
    origin_of,
    port_of,
    rules_for,
)

HOSTS = st.sampled_from(
    [
        *(
            "example.com",
            "EXAMPLE.com",
            "a.b.example.co.uk",
            "bücher.example",
            "xn--bcher-kva.example",
            "例え.jp",
        ),
        *("127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[2001:DB8::1]", "[::ffff:1.2.3.4]"),
        *("localhost", "h", "a..b", "host.", "under_score.example", "ex%41mple.com"),
    ]
)
USERS = st.sampled_from(["", "user@", "user:secret@", "a@b@", "u%2F:p%3F@", ":@", "user:pa?ss@", "x/y@"])
PORTS = st.sampled_from(["", ":", ":80", ":443", ":8080", ":0080", ":1", ":65535", ":0"])
PATHS = st.sampled_from(
    [
        "",
        "/",
        "/a",
        "/a/../b/./c",
        "/a//b",
        "/ä ö",
        "/%7Euser",
        "/a@b:c",
        "/[x]",
        "\\back\\slash",
        "/a;p=1",
        "//x",
    ]
)
WORDS = st.text("abAB019%=+@/?:;.[]~é -_", max_size=8)
QUERIES = st.lists(WORDS, max_size=5).map(lambda parts: "?" + "&".join(parts) if parts else "")
FRAGMENTS = st.sampled_from(["", "#", "#top", "#a?b/c@d"])


@st.composite
def normals(draw: st.DrawFn) -> str:
    scheme = draw(st.sampled_from(["http://", "https://", "HTTP://", "http:/", "https:\\\\"]))
    parts = (draw(part) for part in (USERS, HOSTS, PORTS, PATHS, QUERIES, FRAGMENTS))
    normal = normal_url(scheme + "".join(parts))
    assume(normal is not None)
    assert normal is not None
    return normal


@pytest.mark.parametrize(
    ("given_url", "normal"),
    [
        ("http://EXAMPLE.com:80/", "http://example.com/"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://1.2.3.4:0080/x", "http://1.2.3.4/x"),
        ("http://bücher.example/ä?ö=ü", "http://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/a#", "http://example.com/a"),
        ("http://example.com/a?#x?y", "http://example.com/a?"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("  http://example.com/a\n", "http://example.com/a"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://a@b@example.com/", "http://a%40b@example.com/"),
    ],
)
def test_the_normal_form_is_what_browsers_make_of_it(given_url: str, normal: str) -> None:
    assert normal_url(given_url) == normal


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "example.com",
            "//example.com/",
            "ftp://example.com/",
            "javascript:void(0)",
            "mailto:a@b.example",
        ),
        *(
            "http://",
            "http://ho st/",
            "http://h:99999/",
            "http://[::1/",
            "http://h/\ud800",
            "data:,x",
            "httpx://h/",
        ),
    ],
)
def test_what_is_no_http_url_has_no_normal_form(text: str) -> None:
    assert normal_url(text) is None


@pytest.mark.parametrize(
    ("href", "joined"),
    [
        ("b", "http://h.example/dir/b"),
        ("/b", "http://h.example/b"),
        ("?q=1", "http://h.example/dir/page?q=1"),
        ("", "http://h.example/dir/page?old=1"),
        ("#top", "http://h.example/dir/page?old=1"),
        ("//other.example/x", "https://other.example/x".replace("https", "http")),
        ("https://other.example", "https://other.example/"),
        ("http:?q=2", "http://h.example/dir/page?q=2"),
        ("../../..", "http://h.example/"),
        ("mailto:a@b.example", None),
        ("http://[", None),
    ],
)
def test_a_link_is_joined_to_its_base(href: str, joined: str | None) -> None:
    assert normal_url(href, "http://h.example/dir/page?old=1") == joined


def test_a_base_that_is_no_url_gives_nothing() -> None:
    assert normal_url("a", "nonsense") is None


@pytest.mark.parametrize(
    ("normal", "canonical"),
    [
        ("http://h/p", "http://h/p"),
        ("http://h/p?", "http://h/p"),
        ("http://h/p?&&", "http://h/p"),
        ("http://h/p?b=2&a=1", "http://h/p?a=1&b=2"),
        ("http://h/p?b=0&a=2&a=1&a=2", "http://h/p?a=2&a=1&a=2&b=0"),
        ("http://h/p?a=&a", "http://h/p?a=&a"),
        ("http://h/p?p=1&p2=2", "http://h/p?p2=2&p=1"),
        ("http://h/p?a&a=", "http://h/p?a&a="),
        ("http://h/p?utm_source=x&id=1&UTM_Medium=y&gclid=z&FBCLID=w", "http://h/p?id=1"),
        ("http://h/p?utm_source=x", "http://h/p"),
        ("http://h/p?utmost=1&my_gclid=2", "http://h/p?my_gclid=2&utmost=1"),
        ("http://u:p@h/p?b&a", "http://u:p@h/p?a&b"),
        ("http://h/p?q=a?b&c=d", "http://h/p?c=d&q=a?b"),
    ],
)
def test_the_canonical_form_sorts_the_query_and_drops_tracking(normal: str, canonical: str) -> None:
    assert canonical_url(normal) == canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/中", "http://h/%e4%b8%ad"),
        ("http://h/?q=中", "http://h/?q=%e4%b8%ad"),
        ("http://h/?q=a+b", "http://h/?q=a%20b"),
        ("http://h/?q=a b", "http://h/?q=a+b"),
        ("http://h/~me", "http://h/%7eme"),
        ("http://h/a,b(1)", "http://h/%61%2Cb%281%29"),
        ("http://h/?ids[]=1|2", "http://h/?ids%5B%5D=1%7c2"),
        ("http://h/?next=/a:b", "http://h/?next=%2Fa%3Ab"),
        ("http://h/100%", "http://h/100%25"),
        ("http://h/?a=%zz", "http://h/?a=%25zz"),
        ("http://h/?utm%5Fsource=x&a=1", "http://h/?a=1"),
    ],
)
def test_one_page_in_two_spellings_is_one_request(one: str, other: str) -> None:
    first, second = normal_url(one), normal_url(other)
    assert first is not None
    assert second is not None
    assert first != second
    assert canonical_url(first) == canonical_url(second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/a/b", "http://h/a%2Fb"),
        ("http://h/a?b", "http://h/a%3Fb"),
        ("http://h/a;b", "http://h/a%3Bb"),
        ("http://h/a+b", "http://h/a%20b"),
        ("http://h/?q=a+b", "http://h/?q=a%2Bb"),
        ("http://h/?a=1&b=2", "http://h/?a=1%26b=2"),
        ("http://h/?a=b", "http://h/?a%3Db"),
        ("http://h/?a=%E4", "http://h/?a=%25E4"),
        ("http://h/%2525", "http://h/%25"),
        ("http://h/?q=%d6%d0", "http://h/?q=中"),
        ("http://h/p?a", "http://h/p?a="),
        ("http://h/?x=1&x=2", "http://h/?x=2&x=1"),
        ("http://h/A", "http://h/a"),
    ],
)
def test_an_escaped_separator_is_another_request(one: str, other: str) -> None:
    first, second = normal_url(one), normal_url(other)
    assert first is not None
    assert second is not None
    assert canonical_url(first) != canonical_url(second)


def test_ignored_parameters_are_dropped_by_their_exact_name() -> None:
    rules = CanonicalRules(ignore_params=frozenset({"sid"}))
    assert canonical_url("http://h/?sid=1&SID=2&b=3&sid", rules) == "http://h/?SID=2&b=3"
    assert canonical_url("http://h/?sid=1", rules) == "http://h/"


def test_tracking_parameters_can_be_kept() -> None:
    rules = CanonicalRules(drop_tracking=False)
    assert canonical_url("http://h/?utm_source=x&gclid=1", rules) == "http://h/?gclid=1&utm_source=x"


TOKEN = "0123456789abcdef0123"


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        (f"http://h/a;jsessionid={TOKEN}!1?x=1", "http://h/a?x=1"),
        ("http://h/a;JSessionID=1/b;sid=7", "http://h/a/b;sid=7"),
        (f"http://h/;sid={TOKEN}", "http://h/"),
        (f"http://h/..;jsessionid={TOKEN}/b", f"http://h/..;jsessionid={TOKEN}/b"),
        ("http://h/?PHPSESSID=1&x=1&ASPSESSIONIDABCD=2", "http://h/?x=1"),
        (f"http://h/?x=1&SID={TOKEN}&sessionid={'abz' * 9}", "http://h/?x=1"),
        ("http://h/?sid=42", "http://h/?sid=42"),
        ("http://h/?sid=24/01/01/1234", "http://h/?sid=24/01/01/1234"),
        ("http://h/?sid=advancedcourses", "http://h/?sid=advancedcourses"),
        (f"http://h/?id={TOKEN}", f"http://h/?id={TOKEN}"),
        (f"http://h/?q=;jsessionid={TOKEN}", f"http://h/?q=;jsessionid={TOKEN}"),
    ],
)
def test_session_ids_are_dropped(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert normal_url(canonical) == canonical
    kept = CanonicalRules(drop_session_ids=False)
    assert canonical_url(canonical_url(url, kept), kept) == canonical_url(url, kept)
    assert len(canonical_url(url, kept)) == len(url)


def test_links_that_differ_by_a_doubtful_name_alone_are_told_apart() -> None:
    one, two = f"/song?sid={TOKEN}1", f"/song?sid={TOKEN}2"
    base, rules = "http://h/", CanonicalRules()
    assert rules_for([(one, base), (one, base), ("/other", base)], rules) == rules
    assert rules_for([(one, base), (f"/other?sid={TOKEN}2", base)], rules) == rules
    careful = rules_for([(one, base), (two, base)], rules)
    assert canonical_url("http://h" + one, careful) == "http://h" + one
    assert canonical_url(f"http://h/a;jsessionid={TOKEN}?PHPSESSID=1", careful) == "http://h/a"
    off = CanonicalRules(drop_session_ids=False)
    assert rules_for([(one, base), (two, base)], off) == off


def test_the_tracking_table_is_in_lower_case_because_names_are_compared_so() -> None:
    assert all(name == name.lower() for name in TRACKING_PARAMS)


@given(normals())
@example("http://h/?&=&==&%")
def test_canonical_is_idempotent(normal: str) -> None:
    once = canonical_url(normal)
    assert canonical_url(once) == once
    assert normal_url(once) == once


@given(normals(), st.randoms(use_true_random=False))
def test_the_order_of_different_names_in_a_query_never_matters(normal: str, chance: Random) -> None:
    head, mark, query = normal.partition("?")
    parts = list({unquote_plus(part.partition("=")[0]): part for part in query.split("&")}.values())
    once = canonical_url(head + mark + "&".join(parts))
    chance.shuffle(parts)
    assert canonical_url(head + mark + "&".join(parts)) == once


@given(normals(), st.sampled_from([*sorted(TRACKING_PARAMS), "utm_x"]), WORDS)
def test_a_tracking_parameter_never_matters(normal: str, name: str, value: str) -> None:
    tracked = normal_url(f"{normal}{'&' if '?' in normal else '?'}{name}={value.replace('&', '')}")
    assert tracked is not None
    assert canonical_url(tracked) == canonical_url(normal)


@given(normals())
@example("http://user:pa%3Fss@[::1]:8080/a@b?c@d/e:1")
@example("https://h/?x=http://other:99/")
def test_the_parts_agree_with_the_parser(normal: str) -> None:
    parsed = ada_url.URL(normal)
    assert host_of(normal) == parsed.hostname.removesuffix(".")
    assert authority_of(normal) == parsed.host
    assert origin_of(normal) == parsed.origin
    assert port_of(normal) == int(parsed.port or (443 if parsed.protocol == "https:" else 80))
    # The parser takes an empty query for none; a trailing question mark is part of what is fetched.


@given(normals())
def test_the_canonical_form_has_the_same_origin(normal: str) -> None:
    assert origin_of(canonical_url(normal)) == origin_of(normal)
    assert normal_url(normal) == normal
