"""A server as users run it: `smartspider up`, used over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.acceptance.workshop import Command, Workshop, children_of, is_running, until

from smartspider_testing.waiting import WAIT_S, scaled

TOKEN = "token-of-the-admin"
ENVIRONMENT = {"SMARTSPIDER_ADMIN_TOKEN": TOKEN, "SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.1"}


class Reply:
    """An answer of the API."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def expect(self, status: int) -> Reply:
        assert self.status == status, f"{self.status} instead of {status}: {self.body[:2000]!r}"
        return self


class Server:
    """`smartspider up` in a workshop, which can be killed and started again at the same place."""

    def __init__(
        self,
        workshop: Workshop,
        *options: str,
        environment: Mapping[str, str] = ENVIRONMENT,
        token: str | None = None,
    ) -> None:
        self.workshop = workshop
        self.options = options
        self.environment = environment
        self.token = token or environment["SMARTSPIDER_ADMIN_TOKEN"]
        self.url = ""
        self.greeting: dict[str, Any] = {}
        """What it printed at its start."""
        self._command: Command | None = None
        self._port = "0"

    @property
    def command(self) -> Command:
        assert self._command is not None
        return self._command

    def start(self) -> None:
        """Start it and wait until it answers."""
        arguments = ("up", "--data", "data", "--port", self._port, "--json", *self.options)
        self._command = self.workshop.start(*arguments, env=self.environment)
        until(
            lambda: self.command.has_ended() or b"\n" in self.command.out, f"the server\n{self.command.err}"
        )
        assert not self.command.has_ended(), f"the server ended\n{self.command.err}"
        self.greeting = json.loads(self.command.out.splitlines()[0])
        self.url = self.greeting["url"]
        self._port = str(urlsplit(self.url).port)

    def processes(self) -> list[int]:
        """Its processes."""
        return children_of(self.command.pid)

    def kill(self, *, with_children: bool) -> None:
        """Send SIGKILL to the parent alone, or to all processes."""
        processes = self.processes()
        if with_children:
            self.command.signal(signal.SIGSTOP)  # it would start others in their place
            for pid in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.command.kill()
        until(lambda: not any(map(is_running, processes)), "its processes to leave")

    def stop(self) -> None:
        """SIGTERM, and wait for its end."""
        self.command.signal(signal.SIGTERM)
        self.command.wait()

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Reply:
        """One request."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=WAIT_S)
        try:
            sent = {"Authorization": f"Bearer {self.token}", **headers}
            data = None if body is None else json.dumps(body)
            connection.request(
                method, path, data, sent | ({"Content-Type": "application/json"} if data else {})
            )
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def create(self, task: dict[str, Any]) -> str:
        """Post a task; its id."""
        return str(self.ask("POST", "/api/tasks", task).expect(201).json["id"])

    def begin(self, task_id: str) -> str:
        """Start a run; its id."""
        return str(self.ask("POST", f"/api/tasks/{task_id}/start").expect(202).json["run_id"])

    def status(self, run_id: str) -> dict[str, Any]:
        """Return the status of a run."""
        status: dict[str, Any] = self.ask("GET", f"/api/runs/{run_id}").expect(200).json
        return status

    def until_state(self, run_id: str, *states: str) -> dict[str, Any]:
        """Wait for a state."""
        seen: dict[str, Any] = {}

        def is_there() -> bool:
            seen.update(self.status(run_id))
            return seen["state"] in states

        until(is_there, f"run {run_id} to be {' or '.join(states)}: {seen}", scaled(120))
        return seen

    def rows(self, run_id: str) -> list[dict[str, Any]]:
        """All rows of a run, as JSON lines hold them."""
        answer = self.ask("POST", f"/api/results/export?run_id={run_id}&format=jsonl").expect(200)
        return [json.loads(line) for line in answer.body.decode().splitlines()]


@contextmanager
def served(
    workshop: Workshop, *options: str, environment: Mapping[str, str] = ENVIRONMENT
) -> Iterator[Server]:
    """Run a server for the duration of the block."""
    server = Server(workshop, *options, environment=environment)
    server.start()
    try:
        yield server
    finally:
        if not server.command.has_ended():
            processes = server.processes()
            server.stop()
            assert not any(map(is_running, processes)), "a process of the server outlived it"


Waiting = Callable[[], bool]
