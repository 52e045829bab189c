"""Everything the document says, said to the API by somebody who means no good: schemathesis."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, Caller, open_services, serving

from smartspider.core.errors import NameNotResolved
from smartspider.core.limits.rate_limits import RateLimit
from smartspider.core.workers.worker import SILENT_S, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider.operations.services import Services
from smartspider.wiring.preview.previews import Previews

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)
TASK = {"name": "shop", "entry_urls": ["https://shop.example/"], "selectors": {"fields": {"title": "h1"}}}
KNOWN = {
    "task_id": "1",
    "run_id": "1",
    "schedule_id": "1",
    "notification_id": "1",
    "user_id": "1",
    "token_id": "1",
}
"""Ids of what is there, so that not everything is answered by 404."""
SETTLED = msgspec.structs.replace(SETTINGS, rate_limit=RateLimit(1e5, 1e5))


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    """Services where workers and a keeper seem to be."""
    async with open_services(tmp_path / "data", SETTLED) as services:
        worker = await services.installation.frontier.join(WorkerRegistration("worker 0", "here", 1, "1", 8))
        assert await services.installation.leadership.take("keeper", 3600.0) is not None
        beating = asyncio.create_task(_beat(services, worker))
        yield services
        beating.cancel()


async def _beat(services: Services, worker: int) -> None:
    """Send heartbeats: a server with a silent worker is not ready."""
    while True:
        await services.installation.workers.beat(worker, HeartbeatReport(8, 1.0, 0))
        await asyncio.sleep(SILENT_S / 4)


@pytest.fixture
async def filled(services: Services) -> AsyncIterator[Caller]:
    """An API with something of everything."""
    async with serving(services) as base, aiohttp.ClientSession() as session:
        api = Caller(session, base, ADMIN_TOKEN)
        (await api.post("/api/tasks", TASK)).expect(201)
        (await api.post("/api/tasks/shop/start")).expect(202)
        (await api.post("/api/runs/1/cancel")).expect(202)  # the events of a run that goes on do not end
        (await api.post("/api/schedules", {"task_id": "1", "cron": "0 6 * * *"})).expect(201)
        yield api


class FarFromPages(Previews):
    """Previews begin a process each; what they do is tested elsewhere."""

    async def preview_task(self, spec: bytes, pages: int, holder: str) -> Any:
        raise NameNotResolved("there is no such host")

    async def preview_page(self, url: str, task: dict[str, Any], holder: str) -> Any:
        raise NameNotResolved("there is no such host")


@pytest.fixture
def far_from_pages(services: Services) -> None:
    services.previews = FarFromPages(services.installation)


def _config(place: Path, known: dict[str, str]) -> Path:
    place.mkdir(exist_ok=True)
    config = place / "schemathesis.toml"
    parameters = "".join(f'"path.{name}" = "{value}"\n' for name, value in known.items())
    config.write_text(f"[parameters]\n{parameters}")
    return config


async def told(api: Caller, place: Path, *, token: str, phases: str, examples: int, known: bool) -> str:
    """What schemathesis says of the API; raises what it found."""
    config = _config(place, KNOWN if known else {})
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", f"{api.base}/api/openapi.json", "--header", f"Authorization: Bearer {token}"),
        *("--phases", phases, "--max-examples", str(examples), "--checks", CHECKS, "--no-color"),
        *("--seed", "4", "--request-timeout", "30", "--generation-deterministic"),
        cwd=place,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def viewer(api: Caller) -> str:
    made = (await api.post("/api/tokens", {"name": "looker", "role": "viewer"})).expect(201)
    return str(made.json["token"])


@pytest.mark.thorough
@pytest.mark.usefixtures("far_from_pages")
async def test_no_request_finds_a_server_error_or_an_answer_that_is_not_documented(
    filled: Caller, tmp_path: Path
) -> None:
    said = await told(
        filled, tmp_path / "st", token=ADMIN_TOKEN, phases="examples,fuzzing", examples=4, known=False
    )
    assert "Tested:" in said


@pytest.mark.thorough
@pytest.mark.usefixtures("far_from_pages")
async def test_nor_does_anybody_who_may_only_look_or_nothing(filled: Caller, tmp_path: Path) -> None:
    for token in (await viewer(filled), "forged"):
        await told(filled, tmp_path / "st", token=token, phases="fuzzing", examples=1, known=True)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("known", [False, True])
async def test_the_same_for_a_long_time(filled: Caller, tmp_path: Path, known: bool) -> None:
    """With every border case of every parameter, and sequences of requests."""
    for token in (ADMIN_TOKEN, await viewer(filled), "forged"):
        phases = "examples,coverage,fuzzing,stateful"
        await told(filled, tmp_path / "st", token=token, phases=phases, examples=60, known=known)
