"""Tasks over REST."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.api.asking import Caller

from smartspider.core.access import Principal
from smartspider.core.errors import Forbidden
from smartspider.operations.services import Services
from smartspider.services.tasks import tasks


def task(name: str = "shop", **more: Any) -> dict[str, Any]:
    return {"name": name, "entry_urls": ["https://shop.example/"], **more}


async def test_a_task_is_created_where_it_says(api: Caller) -> None:
    answer = (await api.post("/api/tasks", task())).expect(201)
    assert answer.json["status"] == "created"
    assert answer.json["id"] == answer.json["task_id"]
    assert answer.json["version"] == 1
    shown = (await api.get(answer.headers["Location"])).expect(200)
    assert shown.json["name"] == "shop"
    assert shown.json["spec"] == task()
    assert shown.json["owner"] == "admin"
    assert shown.json["newest_run"] is None


async def test_the_seed_example_is_kept_with_warnings(api: Caller, seed: dict[str, Any]) -> None:
    """A part that is not supported yet does not keep anybody from keeping the task."""
    answer = (await api.post("/api/tasks", {**seed, "account_pool": "main"})).expect(201)
    assert [one["path"] for one in answer.json["warnings"]] == ["account_pool"]


async def test_a_name_is_taken_once(api: Caller) -> None:
    (await api.post("/api/tasks", task())).expect(201)
    problem = (await api.post("/api/tasks", task(concurrency=3))).expect(409)
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert problem.json["code"] == "conflict"
    assert "shop" in problem.json["detail"]
    assert (await api.get("/api/tasks/shop")).json["version"] == 1


async def test_what_is_wrong_with_a_task_is_said_key_by_key(api: Caller) -> None:
    wrong = task(concurency=3, entry_urls=["ftp://x/"])
    problem = (await api.post("/api/tasks", wrong)).expect(422)
    assert problem.json["code"] == "task_invalid"
    said = {one["path"]: one for one in problem.json["errors"]}
    assert "concurrency" in said["concurency"]["hint"]
    assert said["entry_urls[0]"]["message"]
    assert (await api.get("/api/tasks")).json == {"items": [], "next": None}


async def test_a_file_on_the_server_is_never_read(api: Caller) -> None:
    for file in ("/etc/hostname", "-", "urls.txt"):
        problem = (await api.post("/api/tasks", task(entry_urls=[{"file": file}]))).expect(422)
        (said,) = problem.json["errors"]
        assert said["path"] == "entry_urls[0].file"
        assert "urls" in said["hint"]
    tried = (await api.post("/api/tasks?dry_run=true", task(entry_urls=[{"file": "-"}]))).expect(200)
    assert tried.json["valid"] is False


async def test_a_list_of_urls_and_a_description_are_kept_as_they_were_sent(api: Caller) -> None:
    entry = {"urls": ["http://a.com/1", "http://a.com/2"], "values": {"n": [1, 2]}, "meta": {"n": "{n}"}}
    sent = task(entry_urls=[entry], description="Two pages", **{"$schema": "https://a.com/schema.json"})
    (await api.post("/api/tasks", sent)).expect(201)
    assert (await api.get("/api/tasks/shop")).json["spec"] == sent
    started = (await api.post("/api/tasks/shop/start")).expect(202)
    assert (await api.get(f"/api/runs/{started.json['run_id']}")).json["total"] == 2


async def test_a_selector_that_cannot_work_is_found_before_the_task_is_kept(api: Caller) -> None:
    problem = (await api.post("/api/tasks", task(selectors={"fields": {"a": "p[["}}))).expect(422)
    assert problem.json["errors"][0]["path"] == "selectors.fields.a.expr"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"name": "a", "name": "b"}', b'{"name":"\\ud800"}', b"[" * 9999],
)
async def test_what_is_no_task_is_422(api: Caller, body: bytes) -> None:
    for path in ("/api/tasks", "/api/tasks?dry_run=true"):
        answer = await api("POST", path, data=body, headers={"Content-Type": "application/json"})
        wrong = answer.expect(200 if "dry_run" in path else 422).json
        assert wrong["errors"]
        assert wrong["errors"][0]["message"]


async def test_yaml_is_read_as_well(api: Caller) -> None:
    text = b"name: shop\nentry_urls:\n  - https://shop.example/\n"
    (await api("POST", "/api/tasks", data=text, headers={"Content-Type": "application/yaml"})).expect(201)
    assert (await api.get("/api/tasks/shop")).json["spec"] == task()
    problem = await api("POST", "/api/tasks", data=b"a: [", headers={"Content-Type": "text/yaml"})
    assert "line 1" in problem.expect(422).json["detail"]


async def test_large_yaml_is_refused_for_the_time_it_takes(api: Caller) -> None:
    text = b"name: shop\nentry_urls: [https://shop.example/]\nconcurrency: 1 #" + b"x" * 300_000
    problem = await api("POST", "/api/tasks", data=text, headers={"Content-Type": "application/yaml"})
    assert "JSON" in problem.expect(422).json["hint"]


async def test_what_curl_sends_by_itself_is_read(api: Caller) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    (await api("POST", "/api/tasks", data=msgspec.json.encode(task()), headers=form)).expect(201)
    (await api("POST", "/api/tasks", data=b"<x/>", headers={"Content-Type": "text/xml"})).expect(415)


async def test_a_dry_run_keeps_nothing(api: Caller) -> None:
    answer = (await api.post("/api/tasks?dry_run=true", task())).expect(200)
    assert answer.json == {"valid": True, "errors": [], "warnings": []}
    wrong = (await api.post("/api/tasks?dry_run=true", task(limit=3))).expect(200)
    assert wrong.json["valid"] is False
    assert wrong.json["errors"][0]["path"] == "limit"
    assert (await api.get("/api/tasks")).json["items"] == []


async def test_a_change_makes_a_version_that_tells_what_changed(api: Caller) -> None:
    made = (await api.post("/api/tasks", task(concurrency=3))).json
    changed = (await api("PUT", f"/api/tasks/{made['id']}?note=faster", json=task(concurrency=5))).expect(200)
    assert changed.json["status"] == "changed"
    assert changed.json["version"] == 2
    expected = [{"kind": "changed", "path": "concurrency", "before": 3, "after": 5}]
    assert changed.json["changes"] == expected
    same = (await api("PUT", "/api/tasks/shop", json=task(concurrency=5))).expect(200)
    assert (same.json["status"], same.json["version"]) == ("unchanged", 2)
    listed = (await api.get("/api/tasks/shop/versions")).expect(200).json
    assert [one["version"] for one in listed["items"]] == [2, 1]
    assert listed["next"] is None
    newest = listed["items"][0]
    assert (newest["author"], newest["note"], newest["changes"]) == ("admin", "faster", expected)
    assert listed["items"][1]["changes"] == []
    first = (await api.get("/api/tasks/shop/versions/1")).expect(200).json
    assert first["spec"]["concurrency"] == 3
    second = (await api.get("/api/tasks/shop/versions/2")).expect(200).json
    assert second["changes"] == expected
    for number in ("3", "0", "x"):
        assert (await api.get(f"/api/tasks/shop/versions/{number}")).status in (404, 422)


async def test_versions_are_listed_a_page_at_a_time(api: Caller) -> None:
    await api.post("/api/tasks", task())
    for number in range(2, 6):
        (await api("PUT", "/api/tasks/shop", json=task(concurrency=number))).expect(200)
    seen, cursor = [], ""
    while True:
        page = (await api.get(f"/api/tasks/shop/versions?limit=2{cursor}")).expect(200).json
        seen.append([(one["version"], len(one["changes"])) for one in page["items"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [[(5, 1), (4, 1)], [(3, 1), (2, 1)], [(1, 0)]]


async def test_a_change_meant_for_another_version_is_refused(api: Caller) -> None:
    made = await api.post("/api/tasks", task())
    assert made.headers["Etag"] == '"1"'
    put = "/api/tasks/shop"
    changed = await api("PUT", put, json=task(concurrency=2), headers={"If-Match": '"1"'})
    assert changed.expect(200).headers["Etag"] == '"2"'
    for tag in ('"1"', '"3"', "nonsense", '"99999999999999999999"'):
        late = await api("PUT", put, json=task(concurrency=9), headers={"If-Match": tag})
        assert late.expect(412).json["code"] == "outdated"
        assert (await api("DELETE", put, headers={"If-Match": tag})).status == 412
    for tag in ("*", '"2"', '"1", "2"', 'W/"2"'):
        (await api("PUT", put, json=task(concurrency=2), headers={"If-Match": tag})).expect(200)
    assert (await api.get(put)).json["version"] == 2


async def test_a_task_keeps_its_name(api: Caller) -> None:
    await api.post("/api/tasks", task())
    problem = (await api("PUT", "/api/tasks/shop", json=task("other"))).expect(422)
    assert problem.json["errors"][0]["path"] == "name"
    assert (await api.get("/api/tasks/shop")).json["version"] == 1


async def test_a_task_is_deleted_and_its_name_is_free(api: Caller) -> None:
    made = (await api.post("/api/tasks", task())).json
    assert (await api("DELETE", "/api/tasks/shop")).expect(204).body == b""
    for path in ("shop", made["id"]):
        (await api.get(f"/api/tasks/{path}")).expect(404)
        (await api("DELETE", f"/api/tasks/{path}")).expect(404)
        (await api("PUT", f"/api/tasks/{path}", json=task())).expect(404)
    assert (await api.get(f"/api/tasks/{made['id']}/versions/1")).expect(200).json["spec"] == task()
    again = (await api.post("/api/tasks", task())).expect(201).json
    assert again["id"] != made["id"]


async def test_a_task_with_an_unfinished_run_is_not_deleted(api: Caller, services: Services) -> None:
    from smartspider.taskfile.compile import compile_task
    from smartspider.taskfile.load import parse_task

    await api.post("/api/tasks", task())
    run = await services.installation.store.create_run(compile_task(parse_task(task())), actor="admin")
    problem = (await api("DELETE", "/api/tasks/shop")).expect(409)
    assert f"run {run.id}" in problem.json["detail"]
    assert (await api.get("/api/tasks/shop")).json["newest_run"] == {
        "run_id": str(run.id),
        "state": "queued",
        "reason": "",
    }


async def test_a_number_is_an_id_first_and_then_a_name(api: Caller) -> None:
    first = (await api.post("/api/tasks", task("2"))).json
    (await api.get("/api/tasks/2")).expect(200)
    second = (await api.post("/api/tasks", task("other"))).json
    assert second["id"] == "2"
    assert (await api.get("/api/tasks/2")).json["name"] == "other"
    assert (await api.get(f"/api/tasks/{first['id']}")).json["name"] == "2"


async def test_names_of_any_script_stand_in_paths(api: Caller) -> None:
    name = "größe_商品"
    (await api.post("/api/tasks", task(name))).expect(201)
    (await api.get("/api/tasks/gr%C3%B6%C3%9Fe_%E5%95%86%E5%93%81")).expect(200)


async def test_tasks_are_listed_a_page_at_a_time(api: Caller) -> None:
    for name in ("b", "a", "ab", "c"):
        await api.post("/api/tasks", task(name))
    pages, cursor = [], ""
    while True:
        page = (await api.get(f"/api/tasks?limit=3{cursor}")).expect(200).json
        pages.append([one["name"] for one in page["items"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert pages == [["b", "a", "ab"], ["c"]]
    first = (await api.get("/api/tasks?name=a&limit=1")).json
    rest = (await api.get("/api/tasks", params={"name": "a", "cursor": first["next"]})).json
    assert [one["name"] for one in (*first["items"], *rest["items"])] == ["a", "ab"]


async def test_tasks_are_found_by_part_of_the_name_owner_and_newest_run(api: Caller) -> None:
    operator = api.with_token(
        (await api.post("/api/tokens", {"name": "op", "role": "operator"})).expect(201).json["token"]
    )
    for caller, name in ((api, "tea_shop"), (operator, "Shop_b"), (api, "shop_a"), (api, "tea")):
        (await caller.post("/api/tasks", task(name))).expect(201)
    run = (await api.post("/api/tasks/tea_shop/start")).expect(202).json
    (await api.post(f"/api/runs/{run['run_id']}/pause")).expect(202)

    async def names(query: str) -> list[str]:
        first = (await api.get(f"/api/tasks?limit=1&{query}")).expect(200).json
        found = [one["name"] for one in first["items"]]
        if first["next"] is not None:
            more = {"cursor": first["next"]}
            rest = (await api.get(f"/api/tasks?{query}", params=more)).expect(200).json
            found += [one["name"] for one in rest["items"]]
        return found

    assert await names("q=SHOP") == ["tea_shop", "Shop_b", "shop_a"]
    assert await names("q=shop&sort=name") == ["Shop_b", "shop_a", "tea_shop"]
    assert await names("q=shop&sort=-name&owner=admin") == ["tea_shop", "shop_a"]
    assert await names("sort=-created&owner=token:op") == ["Shop_b"]
    assert await names("state=paused") == ["tea_shop"]
    assert await names("state=paused&q=b") == await names("q=%25") == []


@pytest.mark.parametrize(
    "query",
    [
        "sort=size",
        "state=lost",
        "owner=",
        "limit=0",
        "limit=1001",
        "limit=x",
        "cursor=x",
        "cursor=-1",
        "cursor=" + "9" * 40,
    ],
)
async def test_a_wrong_page_is_422(api: Caller, query: str) -> None:
    (await api.get(f"/api/tasks?{query}")).expect(422)


async def test_what_a_task_may_miss_is_told_when_it_is_checked_and_when_it_is_kept(api: Caller) -> None:
    lossy = {**task(), "dedup": {"urls": "bloom"}}
    checked = (await api.post("/api/tasks?dry_run=true", lossy)).expect(200).json
    assert (checked["valid"], [one["path"] for one in checked["warnings"]]) == (True, ["dedup.urls"])
    assert (await api.post("/api/tasks", lossy)).expect(201).json["warnings"] == checked["warnings"]
    assert "0.01 %" in checked["warnings"][0]["message"]


async def test_only_an_owner_or_an_admin_changes_a_task(services: Services) -> None:
    """The service decides, whoever calls it."""
    from smartspider.services.tasks.checks import check_document

    spec = (await check_document(services.installation, task())).spec
    ann, bob, eve = Principal("ann", "operator"), Principal("bob", "operator"), Principal("eve", "viewer")
    store = services.installation.tasks
    with pytest.raises(Forbidden):
        await tasks.create(store, spec, eve)
    made = (await tasks.create(store, spec, ann)).task
    for other in (bob, eve):
        with pytest.raises(Forbidden):
            await tasks.find_own_task(services.installation, "shop", other)
        with pytest.raises(Forbidden):
            await tasks.change(store, made, spec, other)
        with pytest.raises(Forbidden):
            await tasks.delete(store, made, other)
    assert (await tasks.find_own_task(services.installation, "shop", ann)).owner == "ann"
    await tasks.delete(store, made, Principal("root", "admin"))


async def test_a_note_is_short(api: Caller) -> None:
    (await api.post("/api/tasks?note=" + "x" * 1001, task())).expect(422)
    (await api.post("/api/tasks?note=why", task())).expect(201)
    assert (await api.get("/api/tasks/shop")).json["note"] == "why"


async def test_every_write_is_in_the_audit_with_who_did_it(api: Caller) -> None:
    await api.post("/api/tasks", task())
    await api("PUT", "/api/tasks/shop", json=task(concurrency=2))
    await api("DELETE", "/api/tasks/shop")
    entries = (await api.get("/api/audit?subject=task:1")).expect(200).json["items"]
    assert [(one["actor"], one["action"]) for one in entries] == [
        ("admin", "task.deleted"),
        ("admin", "task.changed"),
        ("admin", "task.created"),
    ]
