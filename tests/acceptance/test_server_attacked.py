"""A server among people who mean it no good, and accidents to one process of it at a time."""

from __future__ import annotations

import contextlib
import http.client
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.acceptance import server as servers
from tests.acceptance.server import Reply, Server, served
from tests.acceptance.workshop import Site, Workshop, graph_site, html, is_running, until, written_site

from smartspider.engine.supervisor import SETTLED_S
from smartspider_testing.hostile.sockets import FLOODS
from smartspider_testing.sites.graph import ChangingGraph, graph_task
from smartspider_testing.waiting import WAIT_S, scaled

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]

CLIENTS = 20
PAGES = 300
TASKS = 100
SPELLINGS = [
    *("127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1"),
    *("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[::]", "0", "foo.localhost", "user@127.0.0.1"),
    *("169.254.169.254", "10.0.0.1", "[fe80::1]", "[fd00::1]", "①②⑦.⓪.⓪.①", "127。0。0。1"),
]
CROOKED = [
    *("//api/tasks", "/api/../api/tasks", "/api//tasks", "/%61pi/tasks", "/api%2ftasks", "/api/tasks%00"),
    *("/healthz/../api/tasks", "/api/openapi.json/../tasks", "/api/auth/token/../../tasks", "/./api/tasks"),
    *("/api/docs/%2e%2e/tasks", "/api/tasks;x=1", "/api/tasks.", "/metrics/", "/metrics%20", "/metricsx"),
    *("/api/tasks?token={0}", "/api/tasks?access_token={0}", "/api/tasks?ticket={0}", "/metrics?token={0}"),
    *("http://x/api/tasks", "/API/tasks"),
]


def together(work: Callable[[int], Any]) -> list[Any]:
    """Return the results of twenty clients that do the same at the same time."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(work, range(CLIENTS)))


def statuses(replies: list[Reply]) -> dict[int, int]:
    return dict(Counter(reply.status for reply in replies))


def raw(server: Server, text: str) -> tuple[int, bytes]:
    """The answer to bytes that no library would send."""
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), 30) as client:
        client.sendall(text.encode("utf-8"))
        answer = http.client.HTTPResponse(client)
        answer.begin()
        return answer.status, answer.read()


def named(server: Server, what: str) -> int:
    """The process of the server with this in its command line."""
    found = [pid for pid in server.processes() if what in (Path("/proc") / str(pid) / "cmdline").read_text()]
    return found[0]


def is_sound(workshop: Workshop) -> None:
    """Nothing in the data folder contradicts anything else there."""
    assert workshop.run("audit", "verify", "--data", "data", "--json").expect(0).json["valid"]
    assert workshop.run("fsck", "--data", "data", "--json").expect(0).json == []


@pytest.fixture
def graph() -> Iterator[Site]:
    with graph_site(PAGES, seed=41, delay_ms=20) as site:
        yield site


def test_nobody_comes_in_by_a_crooked_way(workshop: Workshop) -> None:
    with served(workshop, "--workers", "0", environment={"SMARTSPIDER_ADMIN_TOKEN": servers.TOKEN}) as server:
        for path in CROOKED:
            asked = path.format(servers.TOKEN)
            status, body = raw(server, f"GET {asked} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert status in (401, 404), f"{path}: {status} {body!r}"
        for line in ("X-HTTP-Method-Override: GET", "X-Original-URL: /healthz", "X-Forwarded-User: admin"):
            assert raw(server, f"GET /api/tasks HTTP/1.1\r\nHost: x\r\n{line}\r\n\r\n")[0] == 401
        idle = [socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port))]
        idle += [socket.create_connection(idle[0].getpeername()) for _ in range(400)]
        for client in idle:
            client.sendall(b"POST /api/tasks HTTP/1.1\r\nX-Endless: ")
        server.ask("GET", "/api/tasks").expect(200)
        for client in idle:
            client.close()
        for host in SPELLINGS:
            url = f"http://{host}:{urlsplit(server.url).port}/healthz"
            looked = server.ask("POST", "/api/preview", {"url": url, "rules": "h1"}).expect(422)
            assert looked.json["code"] == "private_address", f"{host}: {looked.body!r}"
            task = {"name": "x", "entry_urls": [url], "selectors": {"fields": {"a": "h1"}}}
            tried = server.ask("POST", "/api/tasks?dry_run=true&preview=true", task).expect(422)
            assert tried.json["code"] == "private_address", f"{host}: {tried.body!r}"
            hook = {"kind": "webhook", "address": url, "events": ["run.failed"]}
            made = server.ask("POST", "/api/notifications", hook)
            if made.status == 201:  # then it is refused when it is sent
                sent = server.ask("POST", f"/api/notifications/{made.json['id']}/test").expect(200).json
                assert not sent["delivered"]
                assert "private address" in sent["error"], f"{host}: {sent}"


def test_a_redirect_does_not_lead_inside(workshop: Workshop) -> None:
    with written_site(workshop.folder.parent, routes={"/secret": [html("Inside")]}) as inside:
        away = {"status": 302, "headers": {"Location": f"http://localhost:{inside.port}/secret"}}
        with written_site(workshop.folder.parent, routes={"/": [away]}) as outside:
            environment = {
                "SMARTSPIDER_ADMIN_TOKEN": servers.TOKEN,
                "SMARTSPIDER_ALLOW_PRIVATE": outside.authority,
            }
            with served(workshop, "--workers", "1", environment=environment) as server:
                looked = server.ask("POST", "/api/preview", {"url": outside.url("/"), "rules": "h1"})
                assert looked.expect(422).json["code"] == "private_address"
                task = {"name": "x", "entry_urls": [outside.url("/")], "selectors": {"fields": {"a": "h1"}}}
                run = server.begin(server.create(task))
                server.until_state(run, "failed")
                assert server.rows(run) == []
                entry = {**task, "name": "y", "entry_urls": [inside.url("/secret")]}
                refused = server.ask("POST", f"/api/tasks/{server.create(entry)}/start").expect(422)
                assert refused.json["code"] == "private_address"
            assert inside.paths() == []


def test_twenty_clients_at_once_get_one_task_one_run_and_one_version(workshop: Workshop, graph: Site) -> None:
    task = {**graph_task(f"{graph.base}/"), "name": "wanted"}
    with served(workshop, "--workers", "1") as server:
        made = together(lambda _: server.ask("POST", "/api/tasks", task, **{"Idempotency-Key": "one"}))
        assert set(statuses(made)) <= {201, 409}
        assert len({reply.json["id"] for reply in made if reply.status == 201}) == 1
        path = f"/api/tasks/{made[0].json.get('id', 'wanted')}"
        assert statuses(together(lambda _: server.ask("POST", f"{path}/start"))) == {202: 1, 409: 19}
        run = server.ask("GET", "/api/runs?task_id=wanted").json["items"][0]["id"]
        tag = {"If-Match": server.ask("GET", path).headers["etag"]}
        changed = together(lambda n: server.ask("PUT", path, {**task, "concurrency": n + 20}, **tag))
        assert statuses(changed) == {200: 1, 412: 19}

        def meddle(number: int) -> list[int]:
            acts = ("pause", "resume", "stop", "resume", "retry")
            found = []
            for turn in range(10):
                act = acts[(number + turn) % len(acts)]
                found.append(server.ask("POST", f"/api/runs/{run}/{act}").status)
                found.append(server.ask("PATCH", f"/api/runs/{run}", {"concurrency": number + 1}).status)
            found.append(server.ask("DELETE", path).status)
            return found

        seen = {status for several in together(meddle) for status in several}
        assert seen <= {200, 202, 409}, "an act is done, or is told why not"

        def has_ended() -> bool:
            state = server.status(run)["state"]
            if state in ("paused", "stopped"):
                server.ask("POST", f"/api/runs/{run}/resume")
            return bool(state == "completed")

        until(has_ended, "the run to be completed", 90)
        assert ChangingGraph(PAGES, seed=41).problems(server.rows(run)) == []
        assert statuses(together(lambda _: server.ask("DELETE", path)))[204] == 1
    is_sound(workshop)


@pytest.mark.soak
@pytest.mark.parametrize("kind", FLOODS)
def test_sockets_that_send_all_they_can_do_not_hold_up_a_server(workshop: Workshop, kind: str) -> None:
    with served(workshop, "--workers", "0") as server:
        api = named(server, "smartspider.api.process")
        made = server.ask("POST", "/api/tokens", {"name": "flood", "role": "viewer"}).expect(201)
        attack = [sys.executable, "-m", "smartspider_testing.hostile.sockets", f"{server.url}/api/live", kind]
        environment = {**os.environ, "SMARTSPIDER_TOKEN": made.json["token"]}
        flooding = subprocess.Popen([*attack, "200", "10"], env=environment, stdout=subprocess.PIPE)
        waits_s: list[float] = []
        while flooding.poll() is None:
            began = time.monotonic()
            server.ask("GET", "/healthz").expect(200)
            waits_s.append(time.monotonic() - began)
        assert b"'closed 1008'" in flooding.communicate()[0]
        late = [one for one in waits_s if one > scaled(1.0)]
        assert len(late) <= len(waits_s) // 20, late
        assert named(server, "smartspider.api.process") == api


def events_of(server: Server, run: str, after: int, until_number: int | None = None) -> list[int]:
    """The numbers of the events of a run as a stream tells them, until it ends, breaks off or is enough."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=WAIT_S)
    numbers: list[int] = []
    try:
        headers = {"Authorization": f"Bearer {server.token}", "Accept": "text/event-stream"}
        connection.request("GET", f"/api/runs/{run}/events", headers={**headers, "Last-Event-ID": str(after)})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        for line in answer:
            if line.startswith(b"id:"):
                numbers.append(int(line.removeprefix(b"id:")))
                if until_number is not None and numbers[-1] >= until_number:
                    break
    except (http.client.HTTPException, OSError):
        pass
    finally:
        connection.close()
    return numbers


def test_a_crawl_does_not_notice_the_death_of_the_api_the_keeper_or_a_worker(
    workshop: Workshop, graph: Site
) -> None:
    with served(workshop, "--workers", "2") as server:
        run = server.begin(server.create({**graph_task(f"{graph.base}/"), "name": "g", "concurrency": 4}))
        until(lambda: graph.fetches() > 20, "the crawl to begin")
        with ThreadPoolExecutor(2) as pool:
            watching = pool.submit(events_of, server, run, 0)
            bodies = pool.submit(
                server.ask, "POST", "/api/tasks", {**graph_task(f"{graph.base}/"), "name": "half"}
            )
            bodies.result()
            fetched = graph.fetches()
            for what in ("smartspider.api.process", "keeper", "worker"):
                pid = named(server, what)
                os.kill(pid, signal.SIGKILL)
                until(lambda pid=pid: not is_running(pid), f"the end of {what}")  # type: ignore[misc]
                until(lambda: graph.fetches() > fetched + 5 or is_done(server, run), "the crawl to go on")
            first = watching.result()
        until(lambda: is_done(server, run), "the crawl", 60)
        rest = events_of(server, run, first[-1] if first else 0)
        numbers = first + rest
        assert numbers == sorted(set(numbers)), "an event was told twice or out of order"
        everything = events_of(server, run, 0)
        assert numbers == everything, "an event is missing"
        assert ChangingGraph(PAGES, seed=41).problems(server.rows(run)) == []
        assert len(server.processes()) == 4
    is_sound(workshop)


def is_done(server: Server, run: str) -> bool:
    """Return True if a run is completed; False while the server does not answer."""
    try:
        return bool(server.status(run)["state"] == "completed")
    except (OSError, http.client.HTTPException):
        return False


def test_what_was_sent_when_the_api_died_is_done_once_or_not_at_all(workshop: Workshop, graph: Site) -> None:
    with served(workshop, "--workers", "0") as server:

        def create(number: int) -> int:
            task = {**graph_task(f"{graph.base}/"), "name": f"t{number}"}
            try:
                return server.ask("POST", "/api/tasks", task, **{"Idempotency-Key": f"k{number}"}).status
            except (OSError, http.client.HTTPException):
                return 0

        with ThreadPoolExecutor(CLIENTS) as pool:
            asked = [pool.submit(create, number) for number in range(TASKS)]
            until(lambda: sum(one.done() for one in asked) > 20, "some tasks")
            os.kill(named(server, "smartspider.api.process"), signal.SIGKILL)
            answers = [one.result() for one in asked]
        assert 0 in answers, "the kill came too late to hurt anybody"
        listed = server.ask("GET", "/api/tasks?limit=1000").expect(200).json["items"]
        names = [one["name"] for one in listed]
        assert len(names) == len(set(names))
        assert {f"t{number}" for number, status in enumerate(answers) if status == 201} <= set(names)
        for number in range(TASKS):
            if f"t{number}" not in names:
                assert create(number) in (201, 409), "it can be tried again"
    is_sound(workshop)


@pytest.mark.soak
def test_a_full_disk_is_waited_out(workshop: Workshop, graph: Site) -> None:
    with served(workshop, "--workers", "1") as server:
        settled_at = time.monotonic() + SETTLED_S
        until(lambda: time.monotonic() > settled_at, "a server that has worked for a while")
        run = server.begin(server.create({**graph_task(f"{graph.base}/"), "name": "g", "concurrency": 2}))
        until(lambda: graph.fetches() > 20, "the crawl to begin")

        def limit(size: int) -> None:
            for pid in (server.command.pid, *server.processes()):
                with contextlib.suppress(ProcessLookupError):
                    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
                    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))

        def is_full() -> bool:
            task = {**graph_task(f"{graph.base}/"), "name": f"t{time.monotonic_ns()}"}
            status = server.ask("POST", "/api/tasks", task).status
            assert status in (201, 503)
            return status == 503

        worker = named(server, "worker")
        limit((workshop.folder / "data" / "smartspider.db-wal").stat().st_size + 20_000)
        until(is_full, "the disk to be full")
        until(lambda: not is_running(worker), "the worker to leave")
        assert server.status(run)["state"] == "running"
        limit(resource.RLIM_INFINITY)
        server.until_state(run, "completed")
        assert not server.command.has_ended()
        assert ChangingGraph(PAGES, seed=41).problems(server.rows(run)) == []
    is_sound(workshop)
