"""Machines and workers over REST, and what is asked by those who watch over a server."""

from __future__ import annotations

import platform

import msgspec
from tests.unit.api.asking import ADMIN_TOKEN, Caller

from smartspider import __version__
from smartspider.core.errors import StoreUnavailable
from smartspider.core.workers.scaling import RunEstimate, ScalingDecision, WorkerThroughput
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider.operations.services import Services
from smartspider.services.readiness import Readiness


async def test_this_machine_is_listed_when_nobody_works(api: Caller) -> None:
    answer = (await api.get("/api/nodes")).expect(200).json
    (node,) = answer["items"]
    assert node["node"] == platform.node()
    assert (node["workers"], node["slots"], len(node["load"])) == ([], 0, 3)


async def test_workers_are_told_with_what_they_hold(api: Caller, services: Services) -> None:
    card = WorkerRegistration("worker 0", "crawler-1", 4711, __version__, slots=8)
    worker_id = await services.installation.frontier.join(card)
    nodes = {one["node"]: one for one in (await api.get("/api/nodes")).expect(200).json["items"]}
    assert set(nodes) == {platform.node(), "crawler-1"}
    node = nodes["crawler-1"]
    assert (node["slots"], node["used"], node["free"], node["versions"]) == (8, 0, 8, [__version__])
    (worker,) = node["workers"]
    assert (worker["id"], worker["pid"], worker["state"]) == (str(worker_id), 4711, "alive")


async def test_another_machine_is_told_as_its_workers_tell_it(api: Caller, services: Services) -> None:
    card = WorkerRegistration("worker 0", "crawler-1", 4711, __version__, slots=8, cpus=4, is_elastic=True)
    worker_id = await services.installation.frontier.join(card)
    form = WorkerHealth(lag_s=0.12345, fault_share=0.25, request_s=1.5, pages=700, load=3.456)
    await services.installation.workers.beat(worker_id, HeartbeatReport(8, 2.0, 1 << 30, health=form))
    await services.installation.frontier.join(WorkerRegistration("older", "crawler-2", 4712, "0.1"))
    nodes = {one["node"]: one for one in (await api.get("/api/nodes")).expect(200).json["items"]}
    assert (nodes["crawler-1"]["load"], nodes["crawler-1"]["cpus"]) == ([3.46], 4)
    assert (nodes["crawler-2"]["load"], nodes["crawler-2"]["cpus"]) == (None, None)
    (worker,) = nodes["crawler-1"]["workers"]
    told = ("lag_s", "fault_share", "request_s", "pages", "is_elastic")
    assert [worker[name] for name in told] == [0.123, 0.25, 1.5, 700, True]


async def test_a_machine_is_drained_once_and_by_name(api: Caller, services: Services) -> None:
    await services.installation.frontier.join(WorkerRegistration("worker 0", "crawler-1", 1, "", 8))
    second = await services.installation.frontier.join(WorkerRegistration("worker 1", "crawler-1", 1, "", 8))
    one = (await api.post(f"/api/nodes/crawler-1/drain?worker_id={second}")).expect(202).json
    assert one == {"node": "crawler-1", "asked": 1}
    await api.post("/api/nodes/crawler-1/drain")
    nodes = {each["node"]: each for each in (await api.get("/api/nodes")).json["items"]}
    assert {each["state"] for each in nodes["crawler-1"]["workers"]} == {"draining"}
    for unknown in ("elsewhere/drain", "crawler-1/drain?worker_id=99"):
        (await api.post(f"/api/nodes/{unknown}")).expect(404)
    actions = [each["action"] for each in (await api.get("/api/audit?subject=node:crawler-1")).json["items"]]
    assert actions == ["node.drained"] * len(actions)


async def test_a_living_process_says_so_to_everybody(api: Caller) -> None:
    for caller in (api, api.with_token(None), api.with_token("forged")):
        answer = (await caller.get("/healthz")).expect(200).json
        assert answer == {"status": "ok", "version": __version__}


async def test_what_is_missing_is_named(api: Caller, services: Services) -> None:
    nobody = api.with_token(None)
    answer = (await nobody.get("/readyz")).expect(503)
    assert answer.json["missing"] == ["workers", "keeper"]
    assert ADMIN_TOKEN.encode() not in answer.body
    assert str(services.installation.path).encode() not in answer.body


async def test_a_worker_that_does_not_respond_is_not_ready_and_is_named(
    api: Caller, services: Services
) -> None:
    installation = services.installation
    for name in ("worker 0", "worker 1"):
        await installation.frontier.join(WorkerRegistration(name, platform.node(), 1, "", 8))
    await installation.leadership.take("keeper", 60.0)
    long_ago = installation.leadership.now() - 60.0
    await set_seen(services, "worker 0", long_ago)
    (node,) = (await api.get("/api/nodes")).json["items"]
    assert [worker["state"] for worker in node["workers"]] == ["silent", "alive"]
    found = (await api.get("/readyz")).expect(200).json["checks"]
    assert "1 alive; worker 0 has been silent for 6" in next(
        one["detail"] for one in found if one["name"] == "workers"
    )
    await set_seen(services, "worker 1", long_ago)
    assert (await Readiness(installation).check()).missing == ["workers"]


async def set_seen(services: Services, name: str, moment: float) -> None:
    """The last heartbeat of a worker was at this time."""
    statement = "UPDATE worker SET seen_at = ? WHERE name = ?"
    await services.installation.database.write(
        lambda connection: connection.execute(statement, (moment, name))
    )


async def test_a_server_with_everything_is_ready(api: Caller, services: Services) -> None:
    await services.installation.frontier.join(WorkerRegistration("worker 0", platform.node(), 1, "", 8))
    await services.installation.leadership.take("keeper", 60.0)
    answer = (await api.with_token(None).get("/readyz")).expect(200).json
    assert (answer["ready"], answer["missing"]) == (True, [])


async def test_a_store_that_cannot_be_written_is_named_without_its_place(services: Services) -> None:
    from smartspider.services.readiness import Readiness

    async def broken() -> None:
        raise StoreUnavailable("the data folder /secret/place is full")

    installation = msgspec.structs.replace(services.installation, check_writable=broken)
    view = await Readiness(installation).check()
    assert (view.ready, "store" in view.missing) == (False, True)
    assert "secret" not in view.checks[0].detail


async def test_readiness_is_not_found_out_for_every_request(services: Services) -> None:
    from smartspider.services.readiness import Readiness

    checks = 0

    async def check() -> None:
        nonlocal checks
        checks += 1

    readiness = Readiness(msgspec.structs.replace(services.installation, check_writable=check))
    for _ in range(5):
        await readiness.check()
    assert checks == 1


async def test_prometheus_is_sent_where_it_asked(api: Caller) -> None:
    ((target,),) = [(await api.get("/api/sd/prometheus")).expect(200).json]
    assert target["targets"] == [api.base.removeprefix("http://")]
    assert target["labels"]["__metrics_path__"] == "/metrics"
    (await api.with_token(None).get("/api/sd/prometheus")).expect(401)
    odd = (await api.get("/api/sd/prometheus", headers={"Host": "a b{}"})).status
    assert odd in (200, 400)


async def test_the_schema_of_tasks_is_open(api: Caller) -> None:
    schema = (await api.with_token(None).get("/api/schema/task")).expect(200).json
    assert "entry_urls" in schema["required"]


async def test_workers_are_given_other_slots_by_node_and_by_id(api: Caller, services: Services) -> None:
    first = await services.installation.frontier.join(WorkerRegistration("worker 0", "crawler-1", 1, "", 8))
    await services.installation.frontier.join(WorkerRegistration("worker 1", "crawler-1", 1, "", 8))
    tuned = (await api("PATCH", "/api/nodes/crawler-1", json={"slots": 3})).expect(200).json
    assert tuned == {"node": "crawler-1", "slots": 3, "workers": 2}
    one = (await api("PATCH", f"/api/nodes/{first}", json={"slots": 5})).expect(200).json
    assert one == {"node": "crawler-1", "slots": 5, "workers": 1}
    nodes = {each["node"]: each for each in (await api.get("/api/nodes")).json["items"]}
    assert [each["slots"] for each in nodes["crawler-1"]["workers"]] == [5, 3]
    (await api("PATCH", "/api/nodes/elsewhere", json={"slots": 3})).expect(404)
    (await api("PATCH", "/api/nodes/crawler-1", json={"slots": -1})).expect(422)
    assert (await api.post(f"/api/nodes/{first}/drain")).expect(202).json == {"node": "crawler-1", "asked": 1}


async def test_how_many_workers_are_wanted_is_told_with_the_reason(api: Caller, services: Services) -> None:
    await services.installation.frontier.join(
        WorkerRegistration("worker 0", "crawler-1", 1, "", 8, is_elastic=True)
    )
    await services.installation.frontier.join(WorkerRegistration("worker 1", "crawler-1", 1, "", 8))
    first = (await api.get("/api/nodes/scaling")).expect(200).json
    assert (first["desired"], first["workers"], first["elastic"], first["at"]) == (2, 2, 1, None)
    assert first["reason"] == "no keeper has decided yet; start one with `smartspider keeper`"
    term = await services.installation.leadership.take("tests", 60.0)
    assert term is not None
    line = RunEstimate(7, 120, 3, 6.0, 2.5, "gates of 3 hosts let 6 requests be in flight")
    await services.installation.scaling.save(
        term.epoch, ScalingDecision(5, "much to do", 0.5, (line,), WorkerThroughput(0.25, 0.02, 16))
    )
    told = (await api.get("/api/nodes/scaling")).expect(200).json
    assert told == {
        "desired": 5,
        "workers": 2,
        "elastic": 1,
        "reason": "much to do",
        "at": "1970-01-01T00:00:00.500Z",
        "slots": 16,
        "request_s": 0.25,
        "pages_per_s": 40.0,
        "runs": [
            {
                "run_id": "7",
                "open": 120,
                "hosts": 3,
                "in_flight": 6.0,
                "wanted": 2.5,
                "reason": "gates of 3 hosts let 6 requests be in flight",
            }
        ],
    }
    metrics = (await api.get("/metrics")).expect(200).body.decode()
    assert "\nsmartspider_workers_desired 5.0\n" in metrics
