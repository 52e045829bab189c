"""Hosts over REST: what their gates stand at, and turning that by hand."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import make_token

from smartspider.core.errors import QuotaReached
from smartspider.operations.services import Services
from smartspider.store.hosts.gates import MAX_OWN_GATES


async def test_a_host_is_held_and_resumed_with_an_audit(api: Caller) -> None:
    body = {"seconds": 600, "reason": "maintenance"}
    held = (await api.post("/api/hosts/Shop.Example:8080/hold", json=body)).expect(200).json
    assert (held["host"], held["hold_reason"]) == ("shop.example", "maintenance")
    assert held["held_until"] is not None
    (listed,) = (await api.get("/api/hosts?held=true")).expect(200).json["items"]
    assert listed == held
    shorter = (await api.post("/api/hosts/shop.example/hold", json={"seconds": 1})).expect(200).json
    assert shorter["held_until"] == held["held_until"]
    resumed = (await api.post("/api/hosts/shop.example/resume")).expect(200).json
    assert (resumed["held_until"], resumed["hold_reason"]) == (None, "")
    assert (await api.get("/api/hosts?held=true")).expect(200).json["items"] == []
    entries = (await api.get("/api/audit?subject=host:shop.example")).expect(200).json["items"]
    assert [one["action"] for one in entries] == ["host.resumed", "host.held", "host.held"]


async def test_the_delay_of_an_operator_is_told_with_all_the_others(api: Caller, services: Services) -> None:
    await services.installation.frontier.hold_host("other.example", 60.0, "test")
    slowed = (await api("PATCH", "/api/hosts/shop.example", json={"delay_s": 5})).expect(200).json
    assert (slowed["delay_s"], slowed["delays_s"]["operator"]) == (5.0, 5.0)
    first = (await api.get("/api/hosts?limit=1")).expect(200).json
    assert [one["host"] for one in first["items"]] == ["other.example"]
    rest = (await api.get(f"/api/hosts?limit=1&cursor={first['next']}")).expect(200).json
    assert ([one["host"] for one in rest["items"]], rest["next"]) == (["shop.example"], None)
    again = (await api("PATCH", "/api/hosts/shop.example", json={"delay_s": 0})).expect(200).json
    assert again["delay_s"] == 0.0


async def test_what_is_no_host_is_refused(api: Caller) -> None:
    (await api.post("/api/hosts/nobody.example/resume")).expect(404)
    (await api("PATCH", "/api/hosts/a%20b", json={"delay_s": 1})).expect(422)
    (await api("PATCH", "/api/hosts/shop.example", json={"delay_s": -1})).expect(422)
    (await api.post("/api/hosts/shop.example/hold", json={"seconds": 0})).expect(422)


@pytest.mark.parametrize("name", ["*.example.com", "%2A", "a..b", "a,b.example", "a" * 64, "x!y.example"])
async def test_what_is_no_name_of_one_host_is_refused_in_words(api: Caller, name: str) -> None:
    refused = (await api.post(f"/api/hosts/{name}/hold", json={"seconds": 60})).expect(422).json
    assert refused["code"] == "request_invalid"
    assert repr(unquote(name)) in refused["detail"]
    assert (await api.get("/api/hosts")).expect(200).json["items"] == []


@pytest.mark.parametrize(
    "name", ["a_b.example", "127.0.0.1", "[::1]", "xn--bcher-kva.example", "b%C3%BCcher.example"]
)
async def test_every_name_that_can_be_fetched_from_can_be_held(api: Caller, name: str) -> None:
    (await api.post(f"/api/hosts/{name}/hold", json={"seconds": 60})).expect(200)


@pytest.mark.parametrize("figure", ["5", True])
async def test_only_a_number_is_a_number(api: Caller, figure: object) -> None:
    (await api("PATCH", "/api/hosts/shop.example", json={"delay_s": figure})).expect(422)
    (await api.post("/api/hosts/shop.example/hold", json={"seconds": figure})).expect(422)
    (await api("PATCH", "/api/nodes/crawler-1", json={"slots": figure})).expect(422)


async def test_an_operator_holds_and_slows_down_a_host_for_own_runs_only(
    api: Caller, services: Services
) -> None:
    ann = api.with_token(await make_token(services, "ann", "operator"))
    task = {"name": "tea", "entry_urls": ["http://shop.example/"]}
    (await ann.post("/api/tasks", task)).expect(201)
    run_id = (await ann.post("/api/tasks/tea/start")).expect(202).json["run_id"]
    body = {"seconds": 600, "reason": "lunch"}
    for path, sent in (("hold", body), ("resume", {})):
        refused = await ann.post(f"/api/hosts/shop.example/{path}", json={**sent, "scope": "all"})
        assert refused.expect(403).json["code"] == "forbidden"
    held = (await ann.post("/api/hosts/shop.example/hold", json=body)).expect(200).json
    slowed = (await ann("PATCH", "/api/hosts/shop.example", json={"delay_s": 5})).expect(200).json
    assert (held["held_until"], slowed["delays_s"]["operator"]) == (None, 0.0)
    (own,) = slowed["owners"]
    assert (own["owner"], own["delay_s"], own["hold_reason"]) == ("token:ann", 5.0, "lunch")
    assert (await api.get("/api/hosts")).expect(200).json["items"][0]["owners"] == [own]
    await services.installation.store.set_state(int(run_id), "running")
    gate = (await api.get(f"/api/explain?url=http://shop.example/&run_id={run_id}")).expect(200).json["gate"]
    assert "token:ann" in gate["hold_reason"]
    assert (gate["delay_s"], gate["delay_set_by"]) == (5.0, "owner")
    (await ann.post("/api/hosts/shop.example/resume")).expect(200)
    (await ann("PATCH", "/api/hosts/shop.example", json={"delay_s": 0})).expect(200)
    assert (await api.get("/api/hosts")).expect(200).json["items"][0]["owners"] == []


async def test_an_admin_may_choose_own_runs(api: Caller) -> None:
    body = {"seconds": 600, "scope": "own"}
    held = (await api.post("/api/hosts/shop.example/hold", json=body)).expect(200).json
    assert (held["held_until"], len(held["owners"])) == (None, 1)
    (await api.post("/api/hosts/shop.example/resume", json={"scope": "own"})).expect(200)
    (await api.post("/api/hosts/shop.example/hold", json={"seconds": 1, "scope": "some"})).expect(422)


async def test_a_user_holds_a_bounded_number_of_hosts(services: Services) -> None:
    frontier = services.installation.frontier
    for number in range(MAX_OWN_GATES):
        await frontier.hold_host(f"h{number}.example", 60.0, "x", owner="ann")
    with pytest.raises(QuotaReached, match=str(MAX_OWN_GATES)):
        await frontier.slow_host("one.more.example", 5.0, owner="ann")
    await frontier.slow_host("one.more.example", 5.0, owner="bob")
    await frontier.resume_host("h1.example", owner="ann")
    await frontier.slow_host("one.more.example", 5.0, owner="ann")
