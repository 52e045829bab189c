"""Rows over the API."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.rows import TEA, crawled, task

from smartspider.core.pages.extraction import RejectedItem, ValueChange
from smartspider.operations.services import Services
from smartspider.services.access.authenticator import ADMIN
from smartspider.services.results.exports import SLOTS

NAMES = [row["name"] for row in TEA]


async def names(api: Caller, **asked: Any) -> list[str]:
    items = (await api.get("/api/results", params=asked)).expect(200).json["items"]
    return [item["data"]["name"] for item in items]


async def test_a_row_is_told_with_where_it_comes_from(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    page = (await api.get(f"/api/results?run_id={run.id}")).expect(200).json
    first = page["items"][0]
    assert list(first) == ["id", "run_id", "page_id", "url", "data", "fingerprint", "created_at"]
    assert (first["run_id"], first["url"], first["data"]) == (
        str(run.id),
        "http://tea.example/list",
        TEA[0],
    )
    assert len(first["fingerprint"]) == 32
    assert first["created_at"].endswith("Z")
    assert [item["data"] for item in page["items"]] == TEA
    assert page["next"] is None
    brought_by = (await api.get(f"/api/runs/{run.id}/pages/{first['page_id']}")).expect(200).json
    assert brought_by["page"]["url"] == first["url"]


async def test_a_row_is_found_by_its_id(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    listed = (await api.get(f"/api/results?run_id={run.id}")).expect(200).json["items"]
    for row in listed:
        assert (await api.get(f"/api/results/{row['id']}")).expect(200).json == row
    assert len({row["id"] for row in listed}) == len(listed)
    for unknown in (str(int(listed[-1]["id"]) + 1), "0", "x", "-1"):
        (await api.get(f"/api/results/{unknown}")).expect(404)


async def test_a_task_means_its_newest_run(services: Services, api: Caller) -> None:
    first = await crawled(services.installation)
    second = await crawled(services.installation, TEA[:1])
    await crawled(services.installation, name="other")
    for of in ("tea", str(second.task_id)):
        assert await names(api, task_id=of) == NAMES[:1]
        assert await names(api, task_id=of, run_id=first.id) == NAMES


async def test_a_task_without_a_run_has_no_rows(api: Caller) -> None:
    (await api.post("/api/tasks", task())).expect(201)
    assert (await api.get("/api/results?task_id=tea")).expect(200).json == {"items": [], "next": None}
    assert (await api.get("/api/results/count?task_id=tea")).expect(200).json == {
        "run_id": None,
        "count": 0,
        "complete": True,
    }
    assert (await api.get("/api/results/coverage?task_id=tea")).expect(200).json["fields"] == []
    for path in ("rejects", "cleaning"):
        assert (await api.get(f"/api/results/{path}?task_id=tea")).expect(200).json["items"] == []
    for path in ("diff", "export"):
        answer = await api("POST" if path == "export" else "GET", f"/api/results/{path}?task_id=tea")
        assert answer.expect(404).json["detail"] == "the task 'tea' has no run yet"


PATHS = ["", "/count", "/coverage", "/diff", "/rejects", "/cleaning", "/export"]


async def test_somebodys_rows_must_be_asked_for(api: Caller) -> None:
    for path in PATHS:
        answer = await api("POST" if path == "/export" else "GET", f"/api/results{path}")
        assert "task_id or run_id" in answer.expect(422).json["hint"]


@pytest.mark.parametrize("asked", ["run_id=99", "run_id=x", "run_id=-1", "task_id=x"])
async def test_what_is_not_there_is_not_found(api: Caller, asked: str) -> None:
    for path in PATHS:
        (await api("POST" if path == "/export" else "GET", f"/api/results{path}?{asked}")).expect(404)


async def test_a_run_of_another_task_is_not_found(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    await crawled(services.installation, name="other")
    problem = (await api.get(f"/api/results?run_id={run.id}&task_id=other")).expect(404).json
    assert f"run {run.id} " in problem["detail"]
    assert "'other'" in problem["detail"]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (["name=Assam"], [1]),
        (["price>=12.5"], [0, 3]),
        (["price>3", "seller.name=Ann"], [0, 3]),
        (["tags~black"], [1]),
        (["tags[0]=green"], [0]),
        (["name~FINE"], [2]),
        (["price?"], [0, 1, 3]),
        (["price="], [2]),
        (["tags="], [2]),
        (["tags!="], [0, 1, 3]),
        (["seller="], [2]),
        (["price!="], [0, 1, 3]),
        (["seen<2026-02"], [1]),
        (["price=3.00"], [1]),
    ],
)
async def test_rows_are_filtered(services: Services, api: Caller, where: list[str], found: list[int]) -> None:
    run = await crawled(services.installation)
    pairs = [("run_id", str(run.id)), *(("where", one) for one in where)]
    page = (await api.get("/api/results", params=pairs)).expect(200).json
    assert [TEA.index(item["data"]) for item in page["items"]] == found
    assert (await api.get("/api/results/count", params=pairs)).expect(200).json["count"] == len(found)


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ("price", [1, 0, 3, 2]),
        ("-price", [3, 0, 1, 2]),
        ("-created_at", [3, 2, 1, 0]),
        ("name", [1, 3, 0, 2]),
    ],
)
async def test_rows_are_sorted(services: Services, api: Caller, sort: str, found: list[int]) -> None:
    run = await crawled(services.installation)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        asked = {"run_id": str(run.id), "sort": sort, "limit": "1", **cursor}
        page = (await api.get("/api/results", params=asked)).expect(200).json
        seen += [item["data"]["name"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == [NAMES[number] for number in found]


async def test_only_some_fields_are_told(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    page = (await api.get(f"/api/results?run_id={run.id}&fields=price,name&limit=1")).expect(200).json
    whole = (await api.get(f"/api/results?run_id={run.id}&limit=1")).expect(200).json
    assert list(page["items"][0]["data"].items()) == [("price", 12.5), ("name", "Sencha")]
    assert page["items"][0]["fingerprint"] == whole["items"][0]["fingerprint"]
    assert page["next"] == whole["next"] is not None


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ("where=nam%3Dx", "the rows have no field 'nam'"),
        ("where=name", "'name' is not a condition"),
        ("where=name..x%3D1", "'name..x' is not a path into a row"),
        ("fields=name,pric", "the rows have no field 'pric'"),
        ("sort=-nme", "the rows have no field 'nme'"),
        ("sort=name[", "'name[' is not a path into a row"),
        ("cursor=1", "'1' is not a cursor of these rows"),
        ("cursor=x&sort=name", "'x' is not a cursor of these rows"),
        ("limit=0", "limit: Input should be greater than or equal to 1"),
        ("&".join(["where=name%3Dx"] * 11), "where: List should have at most 10 items"),
        ("where=" + "x" * 251, "where[0]: String should have at most 250 characters"),
    ],
)
async def test_what_means_nothing_is_refused(
    services: Services, api: Caller, asked: str, detail: str
) -> None:
    run = await crawled(services.installation)
    problem = (await api.get(f"/api/results?run_id={run.id}&{asked}")).expect(422).json
    assert problem["detail"].startswith(detail)


async def test_coverage_tells_how_full_the_fields_are(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    whole = (await api.get(f"/api/results/coverage?run_id={run.id}")).expect(200).json
    assert (whole["rows"], whole["looked_at"]) == (4, 4)
    assert {one["field"]: one["filled"] for one in whole["fields"]} == {
        "name": 4,
        "price": 3,
        "tags": 3,
        "seller": 3,
        "seen": 1,
    }
    for one in whole["fields"]:
        without = await names(api, run_id=run.id, where=f"{one['field']}=")
        assert len(without) == 4 - one["filled"], one
    assert [one["type"] for one in whole["fields"]] == ["text", "number", "text", "text", "text"]
    some = (await api.get(f"/api/results/coverage?run_id={run.id}&fields=price&sample=2")).expect(200).json
    assert some["fields"] == [
        {"field": "price", "filled": 1, "share": 0.5, "examples": [40], "type": "number"}
    ]


async def test_rejects_are_listed_by_pages(services: Services, api: Caller) -> None:
    rejected = [RejectedItem(f"reason {n}", {"name": n}, "pipeline[0] range", "name", n) for n in range(5)]
    run = await crawled(services.installation, rejected=rejected)
    first = (await api.get(f"/api/results/rejects?run_id={run.id}&limit=3")).expect(200).json
    rest = (await api.get(f"/api/results/rejects?run_id={run.id}&cursor={first['next']}")).expect(200).json
    found = first["items"] + rest["items"]
    assert [one["reason"] for one in found] == [f"reason {n}" for n in range(5)]
    assert rest["next"] is None
    assert found[2] == {
        "id": first["next"],
        "run_id": str(run.id),
        "url": "http://tea.example/list",
        "reason": "reason 2",
        "step": "pipeline[0] range",
        "field": "name",
        "value": 2,
        "data": {"name": 2},
    }


async def test_the_cleaning_log_is_listed_by_field_and_step(services: Services, api: Caller) -> None:
    changes = [
        ValueChange(n, f"pipeline[{n % 2}] {'trim' if n % 2 else 'number'}", "ab"[n % 3 == 0], n, str(n))
        for n in range(2500)
    ]
    run = await crawled(services.installation, changes=changes)

    async def items(asked: str) -> list[int]:
        found: list[int] = []
        cursor = ""
        while True:
            page = (await api.get(f"/api/results/cleaning?run_id={run.id}{asked}{cursor}")).expect(200).json
            found += [one["before"] for one in page["items"]]
            if page["next"] is None:
                return found
            cursor = f"&cursor={page['next']}"

    assert await items("&limit=1000") == list(range(2500))
    assert await items("&field=b&limit=300") == list(range(0, 2500, 3))
    assert await items("&step=trim") == list(range(1, 2500, 2))
    assert await items("&step=pipeline[0]%20number&field=b&limit=1000") == list(range(0, 2500, 6))
    assert await items("&step=rim") == []
    (page,) = (await api.get(f"/api/runs/{run.id}/pages")).expect(200).json["items"]
    assert await items(f"&page_id={page['id']}&limit=1000") == list(range(2500))
    assert await items(f"&page_id={page['id']}&field=b&limit=300") == list(range(0, 2500, 3))
    other = await crawled(services.installation, changes=changes[:1])
    (of_other,) = (await api.get(f"/api/runs/{other.id}/pages")).expect(200).json["items"]
    for wrong in (of_other["id"], "x"):
        (await api.get(f"/api/results/cleaning?run_id={run.id}&page_id={wrong}")).expect(404)


async def test_two_runs_are_compared(services: Services, api: Caller) -> None:
    first = await crawled(services.installation)
    changed = [{**TEA[0], "price": 13}, TEA[1], {**TEA[3], "name": "new"}]
    second = await crawled(services.installation, changed)
    for asked in (f"run_id={second.id}", "task_id=tea", f"task_id=tea&with={first.id}"):
        view = (await api.get(f"/api/results/diff?{asked}&key=name")).expect(200).json
        assert (view["before"], view["after"], view["key"]) == (str(first.id), str(second.id), "name")
        assert view["counts"] == {"new": 1, "changed": 1, "gone": 2, "unchanged": 1, "unseen": 0}
        assert [change["kind"] for change in view["changes"]] == ["changed", "new", "gone", "gone"]
        assert view["changes"][0]["edits"] == [{"field": "price", "before": 12.5, "after": 13}]
        assert (view["has_more"], view["next"]) == (False, None)
    short = (await api.get("/api/results/diff?task_id=tea&key=name&limit=1")).expect(200).json
    assert (len(short["changes"]), short["has_more"]) == (1, True)


async def test_changes_are_listed_by_kind_and_pages(services: Services, api: Caller) -> None:
    rows = [{**TEA[0], "name": f"row {number}", "price": number} for number in range(12)]
    first = await crawled(services.installation, rows[:8])
    changed = [{**row, "price": 99} if number % 2 else row for number, row in enumerate(rows[:6])]
    second = await crawled(services.installation, [*changed, *rows[8:]])

    async def listed(asked: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            path = f"/api/results/diff?run_id={second.id}&key=name{asked}{cursor}"
            view = (await api.get(path)).expect(200).json
            assert view["counts"] == {"new": 4, "changed": 3, "gone": 2, "unchanged": 3, "unseen": 0}
            found += view["changes"]
            if view["next"] is None:
                return found
            cursor = f"&cursor={view['next']}"

    whole = await listed("")
    for limit in (1, 2, 3, 9):
        assert await listed(f"&limit={limit}") == whole
        for kind in ("new", "changed", "gone"):
            of_kind = [change for change in whole if change["kind"] == kind]
            assert await listed(f"&limit={limit}&kind={kind}") == of_kind
    assert [change["kind"] for change in whole] == ["changed"] * 3 + ["new"] * 4 + ["gone"] * 2
    for change in whole:
        row = (await api.get(f"/api/results/{change['id']}")).expect(200).json
        assert row["data"] == change["row"]
        assert row["run_id"] == str(first.id if change["kind"] == "gone" else second.id)
    for cursor in ("x", "1"):
        (await api.get(f"/api/results/diff?run_id={second.id}&cursor={cursor}")).expect(422)


async def test_runs_that_cannot_be_compared_are_told(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    other = await crawled(services.installation, name="other")
    lonely = (await api.get(f"/api/results/diff?run_id={run.id}")).expect(404).json
    assert lonely["detail"] == f"there is no completed run of 'tea' before run {run.id}"
    (await api.get(f"/api/results/diff?run_id={run.id}&with={other.id}")).expect(422)
    (await api.get(f"/api/results/diff?run_id={run.id}&with=x")).expect(404)
    wrong = (await api.get(f"/api/results/diff?run_id={run.id}&with={run.id}&key=nme")).expect(422).json
    assert "no field 'nme'" in wrong["detail"]


async def test_heavy_work_beyond_what_is_possible_is_put_off(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    with ExitStack() as stack:
        for _ in range(SLOTS.total // 2):
            stack.enter_context(services.exports.slots.acquire(ADMIN.name))
        for method, path in (("GET", f"diff?with={run.id}&"), ("POST", "export?")):
            answer = (await api(method, f"/api/results/{path}run_id={run.id}")).expect(429)
            assert answer.headers["Retry-After"] == "5"
    (await api("POST", f"/api/results/export?run_id={run.id}")).expect(200)


async def test_rows_are_for_those_who_may_read_them(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    for path in PATHS:
        method = "POST" if path == "/export" else "GET"
        for token in (None, "forged"):
            (await api.with_token(token)(method, f"/api/results{path}?run_id={run.id}")).expect(401)


async def test_an_id_that_is_left_blank_is_left_out(services: Services, api: Caller) -> None:
    run = await crawled(services.installation)
    assert await names(api, task_id="", run_id=run.id) == NAMES
    assert await names(api, task_id="tea", run_id="") == NAMES
