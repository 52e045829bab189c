"""What went wrong in a crawl: grouped by cause and host, explained, and retried by cause alone."""

from __future__ import annotations

import pytest
from tests.acceptance.workshop import Workshop, html, title_task, written_site

pytestmark = pytest.mark.acceptance

SECRET = [f"/secret/{number}" for number in range(3)]
NO_TITLE = {"body": "<html><body>no title</body></html>", "headers": {"Content-Type": "text/html"}}


def test_causes_are_shown_and_retried_one_by_one(workshop: Workshop) -> None:
    routes = {
        "/": [html("/", [*SECRET, "/broken", "/untitled"])],
        "/broken": [{"status": 500}, {"status": 500}, html("/broken")],
        "/untitled": [NO_TITLE],
    } | {path: [{"status": 403}, html(path)] for path in SECRET}
    with written_site(workshop.folder, routes=routes) as site:
        task = title_task(site.url("/"), retry={"max_attempts": 2, "backoff_s": 0.01})
        task["selectors"] = {"fields": {"title": {"expr": "title::text", "required": True}}}
        workshop.write(task)
        workshop.crawl("-o", "rows.jsonl").expect(7)

        found = workshop.run("run", "problems", "--json").expect(0).json
        assert [(one["kind"], one["cause"], one["host"], one["count"]) for one in found] == [
            ("failed", "forbidden", "127.0.0.1", 3),
            ("failed", "http_server_error", "127.0.0.1", 1),
            ("rejected", "missing_field", "127.0.0.1", 1),
        ]
        assert [("retry" in one["actions"], one["field"]) for one in found] == [
            *((True, ""), (True, "")),
            (False, "title"),
        ]
        told = workshop.run("run", "problems", "1").expect(0)
        assert "3 failed: forbidden at 127.0.0.1" in told.out
        assert told.out.count("  try: ") == 3

        listed = workshop.run("run", "pages", "--cause", "http_server_error", "--json").expect(0).json
        assert [one["url"] for one in listed] == [site.url("/broken")]
        shown = workshop.run("run", "page", listed[0]["id"], "--json").expect(0).json
        assert [one["cause"] for one in shown["explanation"]["record"]["failures"]] == [
            "http_server_error"
        ] * 2
        assert {line["event"] for line in shown["logs"]} >= {"page.buried", "fetch.retried"}
        assert shown["logs"][0]["fields"]["cause"] == "http_server_error"
        text = workshop.run("run", "page", listed[0]["id"]).expect(0).out
        assert text.startswith("failed: http 500 (2 attempts)")

        before = len(site.paths())
        retried = workshop.run("run", "retry", "1", "--cause", "forbidden", "--json").expect(0).json
        assert retried["requests"] == 3
        workshop.crawl("-o", "rows.jsonl").expect(7)
        assert sorted(site.paths()[before:]) == SECRET, "other pages are not fetched again"
        left = workshop.run("run", "problems", "--kind", "failed", "--json").expect(0).json
        assert [one["cause"] for one in left] == ["http_server_error"]
        workshop.run("run", "retry", "1", "--page", listed[0]["id"]).expect(0)
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert workshop.run("run", "problems", "--kind", "failed", "--json").expect(0).json == []
        assert len(workshop.rows()) == 5


def test_a_wrong_choice_is_refused_with_what_to_do(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": [html("/", [])]}) as site:
        workshop.write(title_task(site.url("/")))
        workshop.crawl().expect(0)
        refused = workshop.run("run", "retry", "1", "--cause", "timeout").expect(4)
        assert "no failed request of run 1 matches" in refused.err
        assert (
            "invalid value for '--cause'" in workshop.run("run", "retry", "1", "--cause", "bad").expect(2).err
        )
        assert "run 1 has no request 7" in workshop.run("run", "page", "7").expect(3).err
