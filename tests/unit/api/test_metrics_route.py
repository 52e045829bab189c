"""Metrics in the text format of Prometheus."""

from __future__ import annotations

import re

import aiohttp
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.api.asking import SETTINGS, Caller
from tests.unit.api.watching import new_run

from smartspider.api.app import create_app
from smartspider.api.prometheus import metrics_port
from smartspider.core import events
from smartspider.core.errors import SettingInvalid
from smartspider.installation.settings import read_settings
from smartspider.operations.services import Services
from smartspider.services.metrics import DESCRIPTIONS, FILTER_BUDGET, FILTER_BYTES
from smartspider.telemetry.metrics import EventCounter

HAPPENED = (
    events.PageClosed(1, "h", "http://h/", "done", "", 200, 3, 0.3, duplicates=2, bytes_read=1000),
    events.PageClosed(1, "h", "http://h/", "done", "", 200, 1, 70.5, waited_s=0.5),
    events.PageClosed(1, "h", "http://h/", "missing", "", 404, 0, 0.01),
    events.PageBuried(1, "h", "http://h/", "timeout: 30 s (4 attempts)"),
    events.PageClosed(1, "h", "http://h/a.png", "done", "", 200, 0, 0.0, bytes_read=5, is_file=True),
    events.PageBuried(1, "h", "http://h/b.png", "timeout: 30 s (4 attempts)", is_file=True),
    events.PageBuried(1, "h", "http://h/", "http 500 (2 attempts)", 500),
    events.PageBuried(1, "h", "http://h/", "http 403", 403),
    events.FetchRetried(1, "h", "http://h/", "http 503", 1, 2.0),
    events.FetchRetried(1, "h", "http://h/", "what a http://canary.example/ says", 1, 2.0),
    events.ItemsRejected(1, "h", "http://h/", 4, "no name"),
    events.HostHeld(1, "h", 60.0, "429"),
    events.HostAbandoned(1, "h", 5, "down"),
    events.LeasesReturned(1, 6, "w"),
    events.WorkerKilled(1, "h", "http://h/", "w", "stall", "took more than 20 s in parsing"),
    events.GuardTripped(1, "guard"),
    events.ValuesCleaned(1, "h", "http://h/", 7),
    events.UrlsLeftOut(1, "robots", 3),
    events.UrlFilterCounted(0, "exact", 9, 1, 0, 0, 0),
    events.RunStarted(1, "task", is_resumed=False),
)


def values(text: str) -> dict[str, float]:
    """All samples by name and labels."""
    return {
        sample.name
        + "".join(f",{name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_what_workers_did_is_summed(api: Caller, services: Services) -> None:
    await new_run(services)
    counters = [EventCounter(services.installation.metrics.add) for _ in range(2)]
    for counter in counters:
        for event in HAPPENED:
            counter(event)
        await counter.flush()
        await counter.flush()
    answer = (await api.get("/metrics")).expect(200)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = values(answer.body.decode())
    assert {
        name: value for name, value in found.items() if not name.startswith(("process_", "python_"))
    }.items() >= {
        "smartspider_files_total,outcome=done": 2.0,
        "smartspider_files_total,outcome=failed": 2.0,
        "smartspider_file_bytes_total": 10.0,
        "smartspider_pages_total,outcome=done,status=2xx": 6.0,
        "smartspider_pages_total,outcome=missing,status=4xx": 2.0,
        "smartspider_pages_total,outcome=failed,status=none": 4.0,
        "smartspider_pages_total,outcome=failed,status=4xx": 2.0,
        "smartspider_pages_total,outcome=failed,status=5xx": 2.0,
        "smartspider_pages_buried_total,error=timeout": 4.0,
        "smartspider_pages_buried_total,error=http_4xx": 2.0,
        "smartspider_pages_buried_total,error=http_5xx": 2.0,
        "smartspider_fetch_seconds_bucket,le=0.05": 2.0,
        "smartspider_fetch_seconds_bucket,le=0.25": 2.0,
        "smartspider_fetch_seconds_bucket,le=0.5": 4.0,
        "smartspider_fetch_seconds_bucket,le=60.0": 4.0,
        "smartspider_fetch_seconds_bucket,le=+Inf": 6.0,
        "smartspider_fetch_seconds_count": 6.0,
        "smartspider_gate_wait_seconds_bucket,le=0.5": 2.0,
        "smartspider_gate_wait_seconds_count": 2.0,
        "smartspider_fetch_retries_total,error=http_5xx": 2.0,
        "smartspider_fetch_retries_total,error=other": 2.0,
        "smartspider_fetched_bytes_total": 2010.0,
        "smartspider_items_total": 8.0,
        "smartspider_items_duplicate_total": 4.0,
        "smartspider_items_rejected_total": 8.0,
        "smartspider_host_holds_total": 2.0,
        "smartspider_hosts_abandoned_total": 2.0,
        "smartspider_leases_returned_total": 12.0,
        "smartspider_worker_kills_total,cause=stall": 2.0,
        "smartspider_guards_tripped_total": 2.0,
        "smartspider_values_cleaned_total": 14.0,
        "smartspider_left_out_total,reason=robots": 6.0,
        "smartspider_known_urls_total,layer=exact,outcome=hits": 18.0,
        "smartspider_runs,state=running": 1.0,
        "smartspider_requests_open,run_state=running": 1.0,
        "smartspider_workers": 0.0,
    }.items()
    assert found["smartspider_fetch_seconds_sum"] == pytest.approx(2 * 70.31)
    assert found["process_resident_memory_bytes"] > 0.0
    assert b"canary" not in answer.body


async def test_every_metric_is_described_and_named_by_the_rule(api: Caller, services: Services) -> None:
    counter = EventCounter(services.installation.metrics.add)
    for event in HAPPENED:
        counter(event)
    await counter.flush()
    await services.installation.metrics.add({("smartspider_of_another_version_total", ()): 1.0})
    text = (await api.get("/metrics")).expect(200).body.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    ours = {name for name in families if name.startswith("smartspider_")}
    told = DESCRIPTIONS.keys() - {FILTER_BYTES, FILTER_BUDGET}  # only where machines share known URLs
    assert ours - {"smartspider_api_seconds"} == {name.removesuffix("_total") for name in told}
    assert all(families[name].documentation for name in ours)
    for name in ours:
        if families[name].type == "counter":
            assert re.fullmatch(r"smartspider_[a-z]+(_[a-z]+)*", name)


async def test_the_time_of_answers_is_told_by_operation(api: Caller) -> None:
    for _ in range(3):
        (await api.get("/api/logs")).expect(200)
    (await api.get("/api/runs/99/logs")).expect(404)
    (await api.with_token(None).get("/api/runs/99/logs")).expect(401)
    (await api.get("/api/nothing/of/the/kind")).expect(404)
    found = values((await api.get("/metrics")).expect(200).body.decode())
    assert found["smartspider_api_seconds_count,operation=list_logs,status=2xx"] == 3.0
    assert found["smartspider_api_seconds_bucket,le=+Inf,operation=list_logs,status=2xx"] == 3.0
    assert found["smartspider_api_seconds_sum,operation=list_logs,status=2xx"] > 0.0
    assert found["smartspider_api_seconds_count,operation=list_run_logs,status=4xx"] == 1.0
    assert found["smartspider_api_seconds_count,operation=none,status=4xx"] == 2.0


async def test_metrics_need_a_token_that_may_see_them(api: Caller) -> None:
    (await api.with_token(None).get("/metrics")).expect(401)
    for role, status in (("viewer", 200), ("worker", 200), ("uploader", 403)):
        token = (await api.post("/api/tokens", {"name": role, "role": role})).expect(201).json["token"]
        (await api.with_token(token).get("/metrics")).expect(status)


def with_metrics_at(services: Services, address: tuple[str, int]) -> Services:
    settings = msgspec.structs.replace(SETTINGS, metrics_address=address)
    return Services(msgspec.structs.replace(services.installation, settings=settings))


async def test_a_port_of_its_own_tells_them_without_a_token(services: Services) -> None:
    own = with_metrics_at(services, ("127.0.0.1", 0))
    async with metrics_port(create_app(own)) as port, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
            assert answer.status == 200
            assert "smartspider_workers" in await answer.text()
        for method, path in (("GET", "/"), ("GET", "/api/runs"), ("POST", "/metrics")):
            async with session.request(method, f"http://127.0.0.1:{port}{path}") as answer:
                assert (answer.status, (await answer.json(content_type=None))["hint"]) == (
                    404,
                    "GET /metrics",
                )
        assert port is not None
        taken = with_metrics_at(services, ("127.0.0.1", port))
        with pytest.raises(SettingInvalid, match=f"127.0.0.1:{port}"):
            async with metrics_port(create_app(taken)):
                pass
    async with metrics_port(create_app(services)) as port:
        assert port is None


@pytest.mark.parametrize("wrong", ["x", "99999", "host:", "-1", "9100x"])
def test_a_port_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_METRICS_PORT"):
        read_settings({"SMARTSPIDER_METRICS_PORT": wrong})
