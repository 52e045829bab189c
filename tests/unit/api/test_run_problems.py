"""Problems and requests of a run over REST: grouped, found, shown in full, retried by cause."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.test_runs_route import begin, create, start

from smartspider.core.frontier.cause import CAUSES, REJECT_CAUSES
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.logs import LogLine
from smartspider.core.pages.extraction import RejectedItem, ValueChange
from smartspider.core.requests.refusal import REFUSAL_CODES
from smartspider.operations.services import Services
from smartspider.services.runs.problems import ADVICE

SITE = "http://u:secret@127.0.0.1:1"
CLOSES = (
    Close("done", status=200, items=[{"a": 1}]),
    Close("dead", f"http 403 at {SITE}/p1", 403, cause="forbidden"),
    Close("dead", "timeout: 30 s (4 attempts)", cause="timeout"),
    Close("dead", "timeout: 30 s (4 attempts)", cause="timeout"),
    Close("skipped", "robots: no", cause="robots"),
    Close(
        "done",
        status=200,
        rejected=[RejectedItem("title is missing", {"title": None}, field="title")],
        changes=[ValueChange(0, "pipeline[0] strip", "title", " a", "a")],
    ),
)


async def troubled(api: Caller, services: Services) -> tuple[str, list[str]]:
    """A finished run with requests that ended in each way; its id, and theirs."""
    entries = [f"{SITE}/p{number}" for number in range(len(CLOSES))]
    politeness = {"delay_s": 0, "per_host": 16}
    task_id = await create(api, entry_urls=entries, politeness=politeness, concurrency=16)
    run_id = await start(api, task_id)
    worker = await begin(services, run_id)
    leases = (await services.installation.frontier.lease(worker, 10, [int(run_id)])).leases
    leases.sort(key=lambda lease: lease.url_id)
    settlements = [Settlement(lease, close) for lease, close in zip(leases, CLOSES, strict=True)]
    await services.installation.ledger.settle(settlements)
    await services.installation.store.finish(int(run_id))
    return run_id, [str(lease.url_id) for lease in leases]


async def ask(api: Caller, path: str) -> Any:
    answer = (await api.get(path)).expect(200)
    assert b"secret" not in answer.body
    return answer.json


async def test_problems_are_grouped_with_what_to_try(api: Caller, services: Services) -> None:
    run_id, ids = await troubled(api, services)
    found = (await ask(api, f"/api/runs/{run_id}/problems"))["items"]
    assert [(one["kind"], one["cause"], one["host"], one["count"], one["field"]) for one in found] == [
        ("failed", "timeout", "127.0.0.1", 2, ""),
        ("failed", "forbidden", "127.0.0.1", 1, ""),
        ("rejected", "missing_field", "127.0.0.1", 1, "title"),
    ]
    assert found[1]["example"]["page_id"] == ids[1]
    assert found[1]["example"]["url"].endswith("@127.0.0.1:1/p1")
    assert [one["actions"] for one in found] == [
        ["slow_host", "tune_timeout", "retry"],
        ["slow_host", "hold_host", "edit_task", "retry"],
        ["open_rules"],
    ]
    skipped = (await ask(api, f"/api/runs/{run_id}/problems?kind=skipped&kind=lost"))["items"]
    assert [(one["kind"], one["cause"], one["actions"]) for one in skipped] == [
        ("skipped", "robots", ["edit_task"])
    ]


async def test_problems_come_in_pages(api: Caller, services: Services) -> None:
    run_id, _ = await troubled(api, services)
    whole = (await ask(api, f"/api/runs/{run_id}/problems"))["items"]
    cursor, seen = "0", []
    while cursor:
        page = await ask(api, f"/api/runs/{run_id}/problems?limit=2&cursor={cursor}")
        seen += page["items"]
        cursor = page["next"]
    assert seen == whole


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("cause=timeout", [2, 3]),
        ("cause=timeout&host=other.example", []),
        ("status=403", [1]),
        ("host=127.0.0.1&q=/P4", [4]),
        ("host=LOCALHOST", []),
        ("page=default&state=done", [0, 5]),
        ("q=%25", []),
    ],
)
async def test_requests_are_found_by_what_they_are(
    api: Caller, services: Services, query: str, wanted: list[int]
) -> None:
    run_id, ids = await troubled(api, services)
    found = (await ask(api, f"/api/runs/{run_id}/pages?{query}"))["items"]
    assert [one["id"] for one in found] == [ids[number] for number in wanted]
    assert [one["cause"] for one in found] == [CLOSES[number].cause for number in wanted]


async def test_a_request_is_shown_with_all_that_is_known(api: Caller, services: Services) -> None:
    run_id, ids = await troubled(api, services)
    logs = [
        LogLine(1.0, 40, "page.buried", "no", "w", run_id=int(run_id), url=f"{site}/p1")
        for site in (SITE, "http://[redacted]@127.0.0.1:1")
    ]
    await services.installation.logs.add(logs)
    failed = await ask(api, f"/api/runs/{run_id}/pages/{ids[1]}")
    assert (failed["page"]["id"], failed["page"]["cause"]) == (ids[1], "forbidden")
    assert [line["url"] for line in failed["logs"]] == ["http://[redacted]@127.0.0.1:1/p1"]
    record = failed["explanation"]["record"]
    assert (record["id"], record["cause"], record["reason"]) == (
        *(ids[1], "forbidden"),
        "http 403 at http://[redacted]@127.0.0.1:1/p1",
    )
    assert [(one["status"], one["cause"]) for one in record["failures"]] == [(403, "forbidden")]
    assert (failed["items"], failed["children"]) == ([], 0)
    stored = await ask(api, f"/api/runs/{run_id}/pages/{ids[0]}")
    assert (stored["items"], stored["page"]["cause"]) == ([{"a": 1}], None)
    refused = await ask(api, f"/api/runs/{run_id}/pages/{ids[5]}")
    assert [(one["field"], one["data"]) for one in refused["rejects"]] == [("title", {"title": None})]
    assert [(one["before"], one["after"]) for one in refused["cleaning"]] == [(" a", "a")]


async def test_the_log_lines_of_a_request_are_those_about_its_url(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api, entry_urls=["http://127.0.0.1:1/p1"]))
    (page,) = (await ask(api, f"/api/runs/{run_id}/pages"))["items"]
    logs = [
        LogLine(1.0, 40, "page.buried", "no", "w", run_id=int(run_id), url=f"http://127.0.0.1:1/p1{more}")
        for more in ("", "/more", "")
    ]
    await services.installation.logs.add(logs)
    shown = await ask(api, f"/api/runs/{run_id}/pages/{page['id']}")
    assert [line["url"] for line in shown["logs"]] == ["http://127.0.0.1:1/p1"] * 2


@pytest.mark.parametrize(
    ("body", "requests"),
    [({"cause": "timeout"}, 2), ({"host": "127.0.0.1", "cause": "forbidden"}, 1), ({}, 3)],
)
async def test_some_of_the_failed_requests_are_retried(
    api: Caller, services: Services, body: dict[str, str], requests: int
) -> None:
    run_id, _ = await troubled(api, services)
    answer = (await api.post(f"/api/runs/{run_id}/retry", body)).expect(202)
    assert (answer.json["state"], answer.json["requests"]) == ("queued", requests)
    assert (await ask(api, f"/api/runs/{run_id}"))["queued"] == requests


async def test_single_requests_are_retried(api: Caller, services: Services) -> None:
    run_id, ids = await troubled(api, services)
    answer = await api.post("/api/tasks/shop/retry", {"page_ids": [ids[0], ids[3], ids[3]]})
    assert answer.expect(202).json["requests"] == 1
    assert (await ask(api, f"/api/runs/{run_id}/pages/{ids[3]}"))["page"]["state"] == "open"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"cause": "dns"}, 409),
        ({"host": "other.example"}, 409),
        ({"cause": "nonsense"}, 422),
        ({"page_ids": ["1"]}, 404),
        ({"page_ids": ["x"]}, 404),
        ({"page_ids": ["1"] * 1001}, 422),
        ({"which": "all", "cause": "timeout"}, 422),
        ({"host": "a\0b"}, 422),
    ],
)
async def test_a_wrong_choice_changes_nothing(
    api: Caller, services: Services, body: dict[str, Any], status: int
) -> None:
    run_id, _ = await troubled(api, services)
    before = await ask(api, f"/api/runs/{run_id}")
    (await api.post(f"/api/runs/{run_id}/retry", body)).expect(status)
    assert await ask(api, f"/api/runs/{run_id}") == before


async def test_what_is_not_there_is_not_found(api: Caller, services: Services) -> None:
    run_id, ids = await troubled(api, services)
    other = await start(api, await create(api, name="other"))
    for path in (f"{run_id}/pages/1", f"{run_id}/pages/x", f"{other}/pages/{ids[0]}", "99/problems"):
        (await api.get(f"/api/runs/{path}")).expect(404)
    for query in (
        "problems?kind=none",
        "problems?cursor=x",
        "pages?cause=none",
        "pages?status=9",
        "pages?q=%00",
    ):
        (await api.get(f"/api/runs/{run_id}/{query}")).expect(422)


def test_advice_names_no_cause_that_is_not_there_and_leaves_out_rules_only() -> None:
    assert set(ADVICE) <= {*CAUSES, *REJECT_CAUSES}
    assert {*CAUSES, *REJECT_CAUSES} - set(ADVICE) <= set(REFUSAL_CODES)
    assert all(advice.text.endswith(".") for advice in ADVICE.values())
