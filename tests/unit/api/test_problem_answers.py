"""Problems: each has a code of its kind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.rows import crawled

from smartspider.wiring.house import House

NO_TASK: list[tuple[str, str, Any]] = [
    ("GET", "/api/tasks?cursor=x", None),
    ("GET", "/api/results?run_id=1&cursor=x", None),
    ("GET", "/api/results?run_id=1&sort=name&cursor=x", None),
    ("GET", "/api/results?run_id=1&where=%3D", None),
    ("GET", "/api/results", None),
    ("GET", "/api/explain?url=x&run_id=1", None),
    ("GET", "/api/audit?since=soon", None),
    ("GET", "/api/logs?level=loud", None),
    ("POST", "/api/results/export?run_id=1&format=doc", None),
    ("POST", "/api/results/export?run_id=1&format=csv&compression=rar", None),
    ("POST", "/api/hosts/a..b/hold", {"seconds": 60}),
    ("POST", "/api/hosts/shop.example/hold", {"seconds": 1e12}),
    ("PATCH", "/api/hosts/shop.example", {"delay_s": 1e9}),
    ("PATCH", "/api/runs/1", {}),
    ("POST", "/api/users", {"name": "ann", "password": "short", "role": "viewer"}),
    ("POST", "/api/tokens", {"name": "a", "role": "viewer", "scopes": ["tea"]}),
    ("POST", "/api/notices", {"name": "a", "kind": "webhook", "address": "ftp://x"}),
    ("POST", "/api/schedules", {"task_id": "tea", "cron": "never"}),
    ("POST", "/api/preview", {"url": "x", "rules": "h1"}),
    ("POST", "/api/preview", {"url": "http://127.0.0.1/"}),
]
A_TASK: list[tuple[str, str, Any]] = [
    ("POST", "/api/tasks", {"name": "a"}),
    ("POST", "/api/tasks", {"name": "a", "entry_urls": ["http://a.example"], "schedule": "never"}),
    ("PUT", "/api/tasks/tea", {"name": "tea2", "entry_urls": ["http://127.0.0.1/"]}),
    ("POST", "/api/preview", {"url": "http://127.0.0.1/", "rules": {"type": "xpath", "expr": "//["}}),
]


@pytest.mark.parametrize(
    ("code", "requests"),
    [("request_invalid", NO_TASK), ("task_invalid", A_TASK)],
    ids=["what_was_asked", "a_task"],
)
async def test_only_what_is_wrong_with_a_task_is_called_so(
    api: Caller, house: House, code: str, requests: list[tuple[str, str, Any]]
) -> None:
    await crawled(house.premises)
    for method, path, body in requests:
        problem = (await api(method, path, json=body)).expect(422).json
        assert problem["code"] == code, (method, path, problem)
