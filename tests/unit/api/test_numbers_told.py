"""Numbers as they are told: what the document calls a number has a point, whatever it was counted from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.unit.api.asking import Caller
from tests.unit.api.rows import TEA, crawled

from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider.operations.services import Services


def without_point(value: Any, schema: dict[str, Any], parts: dict[str, Any], path: str) -> Iterator[str]:
    """Where a whole number stands that the document calls a number."""
    if "$ref" in schema:
        schema = parts[schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("anyOf", [])
    kind = schema.get("type")
    if kinds and not any(one.get("type") == "integer" for one in kinds):
        for one in kinds:
            yield from without_point(value, one, parts, path)
    elif kind == "number" and type(value) is int:
        yield f"{path}: {value}"
    elif kind == "array" and isinstance(value, list):
        for number, one in enumerate(value):
            yield from without_point(one, schema.get("items") or {}, parts, f"{path}[{number}]")
    elif kind == "object" and isinstance(value, dict):
        more = schema.get("additionalProperties")
        for name, one in value.items():
            own = schema.get("properties", {}).get(name, more if isinstance(more, dict) else {})
            yield from without_point(one, own, parts, f"{path}.{name}")


async def test_what_the_document_calls_a_number_is_told_as_one(api: Caller, services: Services) -> None:
    run = await crawled(services.installation, TEA, ends=False)
    worker = await services.installation.frontier.join(WorkerRegistration("w", node="n"))
    await services.installation.workers.beat(worker, HeartbeatReport(16, 1, 0, health=WorkerHealth(pages=7)))
    await api("PATCH", "/api/hosts/slow.example", json={"delay_s": 5})
    schedule = {"task_id": "tea", "every_s": 60, "misfire_s": 0, "jitter_s": 0, "retry_delay_s": 1}
    made = (await api.post("/api/schedules", schedule)).expect(201).json["id"]
    (await api("PATCH", f"/api/runs/{run.id}", json={"delay_s": 0, "limits": {"max_duration_s": 9}})).expect(
        200
    )
    for is_over in (False, True):
        if is_over:
            await services.installation.store.set_state(run.id, "cancelled")
        assert await asked_for_all(api, str(run.id), made) > 20


async def asked_for_all(api: Caller, run_id: str, schedule_id: str) -> int:
    """Look at everything that can be looked at; how much that was."""
    document = (await api.get("/api/openapi.json")).expect(200).json
    known = {"{run_id}": run_id, "{task_id}": "tea", "{schedule_id}": schedule_id, "{version}": "1"}
    asked = 0
    for path, operations in document["paths"].items():
        target = path
        for name, value in known.items():
            target = target.replace(name, value)
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        if "{" in target or set(content) != {"application/json"}:  # a file may have many forms
            continue
        more = {"url": "http://tea.example/list"} if path == "/api/explain" else {}
        more |= {"run_id": run_id} if path.startswith(("/api/results", "/api/explain")) else {}
        answer = await api.get(target, params=more)
        if answer.status == 200:
            asked += 1
            schema = content["application/json"]["schema"]
            assert list(without_point(answer.json, schema, document["components"]["schemas"], path)) == []
    return asked
