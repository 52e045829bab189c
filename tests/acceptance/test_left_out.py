"""A crawl says what it left out: each kind of refusal with its count, and everything seen adds up."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.acceptance.workshop import Site, Workshop, html, title_task, until, written_site

pytestmark = pytest.mark.acceptance

OBEY = {"robots": "obey", "delay_s": 0, "adaptive": False}
RULES = "User-agent: *\nDisallow: /private\nDisallow: /list?page=3\n"
NEXT = '<a class=next rel=nofollow href="/list?page={}">next</a>'
HOME = [
    *("/private/1", "/private/2", "/deny/1", "/deep/1", "/x/x/x/x/x/x", "ftp://h.example/file", "/moved"),
    *("/offsite", "/failing", "/missing", "/meta", "/plain", "/plain#part", "http://10.0.0.1/inside"),
    *(f"http://other.example/{number}" for number in range(3)),
]
MARKED = '<a class=child rel=nofollow href="/nofollow/1">n</a><a class=only href="/only/1">o</a>'
ROUTES: dict[str, Any] = {
    "/robots.txt": [{"headers": {"Content-Type": "text/plain"}, "body": RULES}],
    "/": [html("home", HOME, MARKED)],
    "/deep/1": [html("1", ["/deep/2"])],
    "/deep/2": [html("2", ["/deep/3", "/", "/plain"])],
    "/moved": [{"status": 301, "headers": {"Location": "/landed"}}],
    "/landed": [html("landed", ["http://other.example/0"])],
    "/offsite": [{"status": 302, "headers": {"Location": "http://other.example/away"}}],
    "/failing": [{"status": 500}],
    "/meta": [html("meta", ["/nofollow/2", "/plain"], "<meta name=robots content=nofollow>")],
    "/plain": [html("plain", ["/", "/private/1", "/nofollow/1"])],
    "/nofollow/1": [html("followed after all")],
    "/list": [html("list", [], NEXT.format(2))],
    "/list?page=2": [html("list", ["/private/3"], NEXT.format(3))],
}
LEFT_OUT = {
    ("robots", True): 1,
    ("robots", False): 3,
    ("nofollow", False): 1,
    ("scope_host", False): 4,
    ("scope_deny", False): 1,
    ("scope_allow", False): 1,
    ("depth", False): 1,
    ("trap", False): 1,
    ("not_http", False): 1,
    ("private_address", False): 1,
}
STORED = 9


def task_of(site: Site, **more: Any) -> dict[str, Any]:
    """A task that meets every refusal of the site."""
    task = title_task(site.url("/"), site.url("/list"), site.url("/gone"), politeness=OBEY)
    task["selectors"]["fields"]["never"] = ".never::text"
    return {
        **task,
        "follow": [{"selector": "a.child"}, {"selector": "a.only", "allow": ["/wanted/"]}],
        "pagination": {"type": "next_link", "selector": "a.next"},
        "scope": {"domains": ["127.0.0.1", "10.0.0.1"], "deny": ["/deny/"]},
        "limits": {"max_depth": 2},
        "retry": {"max_attempts": 1},
        **more,
    }


def counts_of(summary: dict[str, Any]) -> dict[tuple[str, bool], int]:
    return {(one["reason"], one["is_next_page"]): one["count"] for one in summary["left_out"]}


def assert_it_adds_up(summary: dict[str, Any]) -> None:
    parts = ("pages", "redirects", "missing", "failed", "left_out_count", "open")
    assert summary["seen"] == sum(summary[part] for part in parts)
    assert summary["left_out_count"] == sum(one["count"] for one in summary["left_out"])


def test_every_kind_of_refusal_is_listed_with_its_count_and_an_example(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(task_of(site))
        finished = workshop.crawl("-o", "rows.jsonl").expect(7)
        summary = finished.json
        assert counts_of(summary) == LEFT_OUT
        assert_it_adds_up(summary)
        outcome = [summary[name] for name in ("pages", "redirects", "missing", "failed", "open")]
        assert outcome == [STORED, 1, 2, 1, 0]
        first = summary["left_out"][0]
        assert (first["reason"], first["is_next_page"]) == ("robots", True)
        assert first["example"]["url"] == site.url("/list?page=3")
        assert first["example"]["parent"] == site.url("/list?page=2")
        assert all(one["example"]["url"] for one in summary["left_out"])
        assert summary["state"] == "completed"
        assert "next page" in summary["reason"]
        assert "robots" in summary["reason"]
        assert (summary["missing_entries"], summary["missing_entry_count"]) == ([site.url("/gone")], 1)
        assert summary["empty_fields"] == ["never"]
        assert "/list?page=2" in site.paths(), "pagination of the task is followed although it says nofollow"
        assert not [path for path in site.paths() if path.startswith(("/private", "/deny", "/nofollow/2"))]
        lines = finished.err.splitlines()
        assert [line for line in lines if "next page not followed" in line and "page=3" in line]
        assert [line for line in lines if "seen: " in line and f"{summary['seen']} URLs" in line]
        assert workshop.run("fsck", "--json").expect(0).json == []


def test_why_names_the_rule_and_the_page_of_a_refused_link(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(task_of(site))
        workshop.crawl().expect(7)
        pages = {
            site.url("/private/1"): ("robots", "Disallow: /private", site.url("/")),
            site.url("/list?page=3"): ("robots", "Disallow: /list?page=3", site.url("/list?page=2")),
            site.url("/nofollow/2"): ("nofollow", "nofollow", site.url("/meta")),
            site.url("/deep/3"): ("depth", "deep", site.url("/deep/2")),
            "http://other.example/1": ("scope_host", "other.example", site.url("/")),
            site.url("/only/1"): ("scope_allow", "allow", site.url("/")),
        }
        for url, (reason, rule, parent) in pages.items():
            answer = workshop.why(url)
            assert answer["left_out"]["reason"] == reason
            assert answer["left_out"]["parent"] == parent
            assert rule in answer["verdict"]
            assert parent in answer["verdict"]
            assert answer["record"] is None
        followed = workshop.why(site.url("/nofollow/1"))
        assert (followed["left_out"], followed["record"]["state"]) == (None, "done")
        assert workshop.why(site.url("/never/linked"))["left_out"] is None


def test_run_show_and_a_dry_run_say_it_too(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(task_of(site))
        dry = workshop.run("dry-run", "task.json", "--limit", "20", "--json").expect(0).json
        shared = {key: number for key, number in LEFT_OUT.items() if key[0] != "private_address"}
        assert shared.items() <= counts_of(dry).items()
        assert dry["empty_fields"] == ["never"]
        assert dry["missing_entries"] == [site.url("/gone")]
        text = workshop.run("dry-run", "task.json", "--limit", "20").expect(0).out
        assert "next page not followed" in text
        summary = workshop.crawl().expect(7).json
        shown = workshop.run("run", "show", summary["run_id"], "--json").expect(0).json
        assert counts_of(shown) == LEFT_OUT
        assert (shown["seen"], shown["left_out_count"]) == (summary["seen"], summary["left_out_count"])
        printed = workshop.run("run", "show", summary["run_id"]).expect(0).out
        assert "next page not followed" in printed


def test_what_a_limit_leaves_is_left_out(workshop: Workshop) -> None:
    pages = {
        f"/{number}": [html(str(number), [], f'<a class=next href="/{number + 1}">n</a>')]
        for number in range(9)
    }
    entry = {"/": [html("home", [f"/p/{number}" for number in range(20)], '<a class=next href="/1">n</a>')]}
    with written_site(workshop.folder, routes={**pages, **entry}) as site:
        task = title_task(site.url("/"), limits={"max_pages": 1}, concurrency=1)
        workshop.write({**task, "pagination": {"type": "next_link", "selector": "a.next"}})
        finished = workshop.crawl().expect(0)
        summary = finished.json
        assert counts_of(summary) == {("limit", True): 1, ("limit", False): 20}
        assert_it_adds_up(summary)
        assert summary["reason"].startswith("limit: max_pages")
        assert "next page not followed" in finished.err


def many_pages(count: int) -> dict[str, Any]:
    """Pages that each lead on, to a link of their own that is refused, and to links that all share."""
    return {
        f"/p/{number}": [
            html(
                str(number),
                [
                    *(f"/p/{(number * 3 + step) % count}" for step in range(1, 4)),
                    *(
                        f"http://o.example/{number}",
                        f"/private/{number}",
                        "http://o.example/all",
                        "/private/all",
                    ),
                ],
            )
            | {"delay_s": 0.01}
        ]
        for number in range(count)
    }


@pytest.mark.timeout(120)
def test_kill_nine_counts_nothing_twice_and_loses_nothing(workshop: Workshop) -> None:
    count = 240
    routes = {**many_pages(count), "/robots.txt": ROUTES["/robots.txt"]}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/p/0"), politeness=OBEY))
        for wanted in (30, 80, 130, 180):
            crawl = workshop.start("crawl", "task.json", "--json")
            until(lambda wanted=wanted: len(site.paths()) >= wanted, f"{wanted} fetches")  # type: ignore[misc]
            assert crawl.kill().code == -signal.SIGKILL
        summary = workshop.crawl("--workers", "2").expect(0).json
        stored = summary["pages"]
        expected = {("scope_host", False): stored + 1, ("robots", False): stored + 1}
        assert counts_of(summary) == expected
        assert summary["seen"] == stored * 3 + 2
        assert_it_adds_up(summary)
        assert workshop.run("fsck", "--json").expect(0).json == []
