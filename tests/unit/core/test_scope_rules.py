"""Which URLs belong to a run, and which look like traps."""

from __future__ import annotations

import pytest

from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.scope import TrapGuards, UrlScope, is_within, pattern_refusal

HOSTS = UrlScope(hosts=frozenset({"shop.example"}))
DOMAINS = UrlScope(hosts=frozenset({"shop.example"}), domains=frozenset({"good.example"}))


def refusal(scope: UrlScope, url: str, parent: str | None = None) -> tuple[str, str] | None:
    found = scope.refusal(url, url.split("/")[2], parent)
    return None if found is None else (found.code, found.detail)


def test_by_default_only_the_hosts_of_the_entries_are_inside() -> None:
    assert refusal(HOSTS, "http://shop.example/a") is None
    assert refusal(HOSTS, "http://www.shop.example/a") == (
        "scope_host",
        "scope: host www.shop.example is not in the task's scope",
    )
    assert refusal(UrlScope(), "http://shop.example/") is not None


@pytest.mark.parametrize(
    ("host", "is_inside"),
    [
        ("good.example", True),
        ("www.good.example", True),
        ("a.b.good.example", True),
        ("notgood.example", False),
        ("example", False),
        ("good.example.evil.example", False),
        ("shop.example", False),
    ],
)
def test_domains_include_their_subdomains_and_replace_the_entry_hosts(host: str, is_inside: bool) -> None:
    assert (refusal(DOMAINS, f"http://{host}/") is None) is is_inside


def test_is_within_ends_for_every_host() -> None:
    assert not is_within("", frozenset({"a"}))
    assert not is_within("..", frozenset({"a"}))
    assert is_within("[::1]", frozenset({"[::1]"}))


def test_deny_beats_allow_and_both_are_searched_anywhere_in_the_url() -> None:
    scope = UrlScope(hosts=frozenset({"h"}), allow=("/item/", r"page=\d+$"), deny=("private",))
    assert refusal(scope, "http://h/item/1") is None
    assert refusal(scope, "http://h/list?page=2") is None
    assert refusal(scope, "http://h/list?page=x") == ("scope_allow", "scope: no allow pattern matches")
    denied = ("scope_deny", "scope: deny pattern 'private' matches")
    assert refusal(scope, "http://h/item/private/1") == denied
    assert pattern_refusal("http://h/anything", (), ()) is None


def test_same_host_keeps_links_on_the_host_of_their_page() -> None:
    scope = UrlScope(domains=frozenset({"shop.example"}), same_host=True)
    assert refusal(scope, "http://a.shop.example/", "a.shop.example") is None
    assert refusal(scope, "http://b.shop.example/", "a.shop.example") == (
        "scope_host",
        "scope: b.shop.example is not the page's own host",
    )
    assert refusal(scope, "http://b.shop.example/") is None


def test_hosts_can_join_and_the_old_scope_stays_as_it_was() -> None:
    joined = HOSTS.with_hosts(["www.shop.example"])
    assert refusal(joined, "http://www.shop.example/") is None
    assert refusal(joined, "http://shop.example/") is None
    assert refusal(HOSTS, "http://www.shop.example/") is not None


TRAPS = TrapGuards(max_url_length=60, max_path_segments=6, max_repeats=2)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://h/", None),
        ("http://h/a/a", None),
        ("http://h/a/b/a/b", None),
        ("http://h/a/a/a", "trap: the path repeats 'a' more than 2 times"),
        ("http://h/a/b/a/b/a", "trap: the path repeats 'a' more than 2 times"),
        ("http://h/1/2/3/4/5/6", None),
        ("http://h/1/2/3/4/5/6/7", "trap: the path has more than 6 segments"),
        ("http://h/?q=/a/a/a/a/a/a/a/a/a", None),
        ("http://h/" + "x" * 51, None),
        ("http://h/" + "x" * 52, "trap: the URL is longer than 60 characters"),
    ],
)
def test_paths_without_end_are_traps(url: str, why: str | None) -> None:
    assert TRAPS.refusal(url) == (why and Refusal("trap", why))


def test_an_honest_deep_path_is_no_trap_by_default() -> None:
    path = "/".join(f"part-{number}" for number in range(32))
    assert TrapGuards().refusal(f"https://docs.example/{path}") is None
    assert TrapGuards().refusal(f"https://docs.example/{path}/more") is not None
