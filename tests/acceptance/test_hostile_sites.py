"""Sites that misbehave: each page gets a clear verdict, and everything around it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.workshop import Finished, Site, Workshop, html, title_task, written_site

from smartspider_testing.sites.hostile import HOSTILE
from smartspider_testing.waiting import scaled

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(180)]

MOST_MB = 400.0
MOST_FOR_MANY_LINKS_MB = 700.0
"""The parser makes a tree 25 times as large as 19 MB of nothing but links: more is kept nowhere."""
GOOD = [f"/good/{number}" for number in range(30)]
OTHER = [f"/other/{number}" for number in range(30)]


class Hostile(NamedTuple):
    """A page that misbehaves: where it is, and what must become of it."""

    path: str
    state: str
    reason: str
    options: dict[str, Any] = {}


EXPECTED = {
    "gzip_bomb": Hostile("/x/bomb", "dead", "too_large"),
    "endless_body": Hostile("/x/endless", "dead", "too_large"),
    "slow_drip": Hostile("/x/drip", "dead", "timeout"),
    "never": Hostile("/x/never", "dead", "timeout"),
    "dropped_mid_body": Hostile("/x/cut", "dead", "dropped"),
    "dropped_at_once": Hostile("/x/hangup", "dead", "dropped"),
    "garbage": Hostile("/x/garbage", "dead", "bad_response"),
    "huge_headers": Hostile("/x/headers", "dead", "bad_response"),
    "redirect_loop": Hostile("/x/loop", "dead", "redirects"),
    "redirect_chain": Hostile("/x/chain/0", "dead", "redirects"),
    "redirect": Hostile("/x/away", "skipped", "scope", {"to": "http://elsewhere.example/"}),
    "million_links": Hostile("/x/million", "dead", "too_large"),
    "wrong_charset": Hostile("/x/charset", "done", ""),
    "unknown_charset": Hostile("/x/klingon", "done", ""),
    "broken_html": Hostile("/x/broken", "done", ""),
    "poison_text": Hostile("/x/poison", "done", ""),
    "binary_as_html": Hostile("/x/binary", "broken", "not_readable"),
    "path_trap": Hostile("/x/deep/a/", "done", ""),
    "calendar_trap": Hostile("/x/calendar?day=2026-01-01", "done", ""),
    "deep_nesting": Hostile("/x/nesting", "broken", "not_readable"),
    "too_many": Hostile("/x/busy", "dead", "429", {"retry_after": 0.2}),
    "too_many_until": Hostile("/x/busier", "dead", "429", {"seconds": 0.2}),
}


def hostile_site() -> dict[str, Any]:
    """Every misbehaviour by its name, among ordinary pages that link to all of them."""
    answers = {
        path: {"hostile": name, "options": options} for name, (path, _, _, options) in EXPECTED.items()
    }
    bad = list(answers)
    routes = {path: [answer] for path, answer in answers.items()}
    routes |= {path: [html(path)] for path in (*GOOD, *OTHER)}
    mixed = [path for pair in zip(GOOD, bad + GOOD, strict=False) for path in pair]
    routes["/"] = [html("/", mixed)]
    routes["/others"] = [html("/others", OTHER)]
    prefixes = {"/x/chain/": {"hostile": "redirect_chain"}, "/x/deep/": {"hostile": "path_trap"}}
    prefixes["/x/calendar"] = {"hostile": "calendar_trap"}
    return {"routes": routes, "prefixes": prefixes, "hosts": ["127.0.0.1", "127.0.0.2"]}


class Crawled(NamedTuple):
    """The one crawl of the hostile site."""

    workshop: Workshop
    site: Site
    finished: Finished
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    place = Workshop(tmp_path_factory.mktemp("hostile") / "here")
    with written_site(place.folder, **hostile_site()) as site:
        fields = {"title": "h1::text", "texts": {"type": "css", "expr": ".x, p", "many": True}}
        task = title_task(
            site.url("/"),
            site.url("/others", "127.0.0.2"),
            selectors={"fields": fields | {"url": {"type": "meta", "expr": "url"}}},
            fetch={"timeout_s": 2},
            retry={"max_attempts": 1},
            # The calendar is endless: deeper links are out of scope.
            limits={"max_depth": 12},
        )
        place.write(task)
        finished = place.start("crawl", "task.json", "-o", "rows.jsonl", "--json").wait(scaled(120))
        yield Crawled(place, site, finished, place.rows())
    place.close()


def test_every_known_misbehaviour_is_here() -> None:
    assert set(EXPECTED) == set(HOSTILE)


def test_the_run_ends_and_every_ordinary_page_is_stored(crawled: Crawled, figures: Figures) -> None:
    crawled.finished.expect(7)
    assert crawled.finished.json["state"] == "completed"
    assert "Traceback" not in crawled.finished.err
    titles = [row["title"] for row in crawled.rows]
    for path in ("/", "/others", *GOOD, *OTHER):
        assert titles.count(path) == 1
    figures(f"peak {crawled.finished.peak_mb:.0f} MB, {crawled.finished.json['duration_s']:.1f} s")
    assert crawled.finished.peak_mb < MOST_MB


@pytest.mark.parametrize("name", EXPECTED)
def test_a_hostile_page_gets_a_clear_verdict(crawled: Crawled, name: str) -> None:
    path, state, reason, _ = EXPECTED[name]
    answer = crawled.workshop.why(crawled.site.url(path))
    assert answer["record"] is not None, answer["verdict"]
    assert answer["record"]["state"] == state, answer["verdict"]
    assert reason in answer["record"]["reason"]
    assert "unexpected" not in answer["verdict"]
    if state in ("dead", "broken"):
        assert answer["record"]["failures"]


def test_another_host_is_not_slowed_down_by_a_hostile_one(crawled: Crawled) -> None:
    log = crawled.site.log()
    ends = {
        host: max(arrival.arrived_at for arrival in log if arrival.host == host)
        for host in ("127.0.0.1", "127.0.0.2")
    }
    first = min(arrival.arrived_at for arrival in log)
    assert ends["127.0.0.2"] - first < 3.0


def test_texts_come_out_clean(crawled: Crawled) -> None:
    texts = {row["url"].rpartition("/")[2]: row["texts"] for row in crawled.rows}
    assert any("three" in text for text in texts["broken"])
    assert "five" in texts["broken"][-1]
    assert "\U0001f577" in texts["poison"]
    assert "plain" in texts["poison"]
    everything = "".join(text for row in crawled.rows for text in row["texts"])
    assert "\x00" not in everything
    assert not any(0xD800 <= ord(character) <= 0xDFFF for character in everything)


def test_traps_are_left_in_time(crawled: Crawled) -> None:
    paths = crawled.site.paths()
    assert len([path for path in paths if path.startswith("/x/deep/")]) <= 5
    assert len([path for path in paths if path.startswith("/x/calendar")]) <= 25
    answer = crawled.workshop.why(crawled.site.url("/x/deep/a/a/a/a/a/a/"))
    assert "trap" in answer["verdict"]


def test_a_page_with_very_many_links_is_read_within_bounds(workshop: Workshop, figures: Figures) -> None:
    routes = {"/": [html("/", ["/many", "/good"])], "/good": [html("/good")]}
    routes["/many"] = [{"hostile": "million_links", "options": {"links": 600_000, "prefix": "/n/"}}]
    with written_site(workshop.folder, routes=routes, prefixes={"/n/": html("n")}) as site:
        workshop.write(title_task(site.url("/"), follow=[{"selector": "a"}], limits={"max_pages": 50}))
        finished = workshop.crawl().expect(0)
        counters = workshop.run("run", "show", "1", "--json").json["counters"]
        figures(
            f"600,000 links in 19 MB: {counters['total']} kept, peak {finished.peak_mb:.0f} MB,"
            f" {finished.json['duration_s']:.1f} s"
        )
        assert finished.json["pages"] == 50
        assert counters["total"] == 50_000 + 3
        assert counters["done"] + counters["skipped"] == counters["total"]
        assert finished.peak_mb < MOST_FOR_MANY_LINKS_MB


def test_endless_calendars_are_bounded_by_max_pages(workshop: Workshop) -> None:
    with written_site(workshop.folder, prefixes={"/c": {"hostile": "calendar_trap"}}) as site:
        workshop.write(title_task(site.url("/c?day=2026-01-01"), limits={"max_pages": 60}))
        assert workshop.crawl().expect(0).json["pages"] == 60


PRIVATE = {
    "literal": "http://127.0.0.3:{port}/",
    "mapped": "http://[::ffff:127.0.0.1]:{other}/",
    "name": "http://localhost:{other}/",
    "decimal": "http://2130706433:{other}/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
}


@pytest.mark.parametrize("name", PRIVATE)
def test_a_redirect_to_a_private_address_is_refused(workshop: Workshop, name: str) -> None:
    inner = {"hosts": ["127.0.0.1"], "routes": {"/": [html("secret")]}}
    with written_site(workshop.folder, **inner) as secret:
        routes: dict[str, Any] = {"/ok": [html("/ok")]}
        routes["/away"] = [{"status": 302, "headers": {"Location": "PLACE"}}]
        with written_site(workshop.folder, routes=routes) as probe:
            port = probe.port
        place = PRIVATE[name].format(port=port, other=secret.port)
        routes["/away"][0]["headers"]["Location"] = place
        hosts = ["127.0.0.1", "127.0.0.3"]
        with written_site(workshop.folder, routes=routes, hosts=hosts, port=port) as site:
            # An entry's redirect target joins the scope, so nothing but the address rule can refuse it.
            workshop.write(title_task(site.url("/ok"), site.url("/away")))
            summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
            assert [row["title"] for row in workshop.rows()] == ["/ok"]
            assert summary["pages"] == 1
            same_host = name == "decimal"
            answer = workshop.why(site.url("/away") if same_host else place)
            assert answer["record"]["state"] == "skipped"
            assert "private_address" in answer["verdict"]
            assert "SMARTSPIDER_ALLOW_PRIVATE" in answer["verdict"]
            assert sorted(site.paths()) == ["/away", "/ok"]
        assert secret.paths() == []


def test_an_operator_can_open_a_private_address(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": [html("inner")]}, hosts=["127.0.0.3"]) as inner:
        target = {"status": 302, "headers": {"Location": inner.url("/", "127.0.0.3")}}
        with written_site(workshop.folder, routes={"/": [target]}) as site:
            workshop.write(title_task(site.url("/")))
            env = {"SMARTSPIDER_ALLOW_PRIVATE": f"127.0.0.3:{inner.port}"}
            assert workshop.crawl("-o", "rows.jsonl", env=env).expect(0).json["pages"] == 1
            assert [row["title"] for row in workshop.rows()] == ["inner"]
