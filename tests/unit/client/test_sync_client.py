"""The client for scripts."""

from __future__ import annotations

import ast
import asyncio
import gc
import importlib.util
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.asking import ADMIN_TOKEN, SETTINGS, open_services, serving
from tests.unit.api.rows import TEA, crawled
from tests.unit.api.watching import new_run

from smartspider.client import ClientRetry, SyncClient
from smartspider.client.portal import Portal
from smartspider.client.sync import SyncResults, SyncRunHandle, SyncTaskHandle
from smartspider.core.errors import NotFound, ServerUnreachable, SettingInvalid
from smartspider.operations.services import Services
from smartspider_testing.waiting import WAIT_S, join, running

ROOT = Path(__file__).parents[3]
SPEC: dict[str, Any] = {"name": "shop", "entry_urls": ["http://a.example/"]}


class Server:
    """A server in a thread of its own, as a script finds it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.url = ""

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with open_services(self._folder, SETTINGS) as self.services, serving(self.services) as self.url:
            self._is_up.set()
            await self._over.wait()

    def __enter__(self) -> Server:
        self._thread.start()
        assert self._is_up.wait(WAIT_S)
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        join(self._thread)

    def do(self, work: Callable[[Services], Any]) -> Any:
        """Something at the server's side."""
        return asyncio.run_coroutine_threadsafe(work(self.services), self._loop).result(WAIT_S)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[SyncClient]:
    with SyncClient(server.url, ADMIN_TOKEN) as client:
        yield client


def threads() -> int:
    return sum(thread.name == "smartspider-client" for thread in threading.enumerate())


def test_a_script_does_everything_without_a_line_of_asyncio(
    client: SyncClient, server: Server, tmp_path: Path
) -> None:
    assert client.get_me().role == "admin"
    task = client.tasks.apply(SPEC)
    assert isinstance(task, SyncTaskHandle)
    assert (task.name, task.version, repr(task)) == (
        "shop",
        1,
        "SyncTaskHandle(id='1', name='shop', version=1)",
    )
    assert [one.name for one in client.tasks.iter()] == ["shop"]
    run = task.start()
    assert isinstance(run, SyncRunHandle)
    run.cancel()
    assert run.wait(timeout_s=20).state == "cancelled"
    assert [event.id for event in run.follow()][:2] == [1, 2]
    found = client.runs.get(str(server.do(lambda services: crawled(services.installation)).id))
    assert isinstance(found.results, SyncResults)
    assert list(found.results.iter()) == TEA
    assert found.results.export(tmp_path / "rows.json").stat().st_size > 100
    assert b"".join(client.export_results(run_id=found.id)).count(b"\n") == 4
    with pytest.raises(NotFound):
        client.get_task("none")
    assert "start_task" in dir(client)
    with pytest.raises(AttributeError):
        client.start_tsak  # type: ignore[attr-defined]  # noqa: B018 - that is what is tried


def test_a_stream_may_be_left_in_the_middle(client: SyncClient, server: Server) -> None:
    run = server.do(new_run)
    for event in client.runs.get(str(run.id)).follow():
        assert event.id == 1
        break
    gc.collect()
    events = client.follow_run(str(run.id))
    assert next(events).id == 1
    events.close()
    with pytest.raises(StopIteration):
        next(events)

    async def until_nobody_watches(services: Services) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(services.hub):  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.002)

    server.do(until_nobody_watches)


def test_closing_ends_the_thread_and_streams_that_are_open(server: Server) -> None:
    before = threads()
    with SyncClient(server.url, ADMIN_TOKEN) as client:
        events = client.follow_run(str(server.do(new_run).id))
        next(events)
        assert threads() == before + 1
    assert threads() == before
    events.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.get_me()


def test_several_threads_use_one_client(client: SyncClient) -> None:
    roles: list[str] = []
    workers = [threading.Thread(target=lambda: roles.append(client.get_me().role)) for _ in range(8)]
    for worker in workers:
        worker.start()
    join(*workers)
    assert roles == ["admin"] * 8


def test_it_works_where_a_loop_runs_already(client: SyncClient) -> None:
    async def asked() -> str:
        return client.get_me().role

    assert asyncio.run(asked()) == "admin"


def test_a_server_that_is_not_there_is_an_error_and_no_thread_stays() -> None:
    retry = ClientRetry(first_wait_s=0.001)
    before = threads()
    with SyncClient("http://127.0.0.1:9", retry=retry) as client, pytest.raises(ServerUnreachable):
        client.get_health()
    assert threads() == before
    with pytest.raises(SettingInvalid):
        SyncClient.from_env({})
    with SyncClient.from_env({"SMARTSPIDER_SERVER": "http://127.0.0.1:9"}):
        pass


def test_ctrl_c_ends_the_waiting(server: Server) -> None:
    run = server.do(new_run)
    script = (
        "from smartspider.client import SyncClient\n"
        f"with SyncClient({server.url!r}, {ADMIN_TOKEN!r}) as client:\n"
        f"    for event in client.runs.get({str(run.id)!r}).follow():\n"
        "        print(event.id, flush=True)\n"
    )
    with running(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        assert process.stdout.readline() == "2\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == -signal.SIGINT
    assert said.strip().endswith("KeyboardInterrupt")
    assert "never" not in said


def test_the_types_for_scripts_are_those_of_the_client() -> None:
    spec = importlib.util.spec_from_file_location("sync_stub", ROOT / "scripts" / "sync_stub.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    is_now, should_be = _shape(script.STUB.read_text()), _shape(script.build_stub())
    assert is_now == should_be, "run python scripts/sync_stub.py"


def _shape(text: str) -> tuple[list[str], list[str]]:
    """What a stub imports and what it has, however that is written."""
    body = ast.parse(text).body[1:]
    named = [
        f"{node.module}.{one.name}" for node in body if isinstance(node, ast.ImportFrom) for one in node.names
    ]
    return sorted(named), [ast.dump(node) for node in body if isinstance(node, ast.ClassDef)]


def test_what_nobody_waits_for_any_more_is_ended() -> None:
    portal, is_ended = Portal(), threading.Event()

    async def work() -> None:
        waiting = threading.main_thread().ident
        assert waiting is not None
        signal.pthread_kill(waiting, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            is_ended.set()

    with pytest.raises(KeyboardInterrupt):
        portal.run(work())
    assert is_ended.wait(WAIT_S)
    portal.close()
