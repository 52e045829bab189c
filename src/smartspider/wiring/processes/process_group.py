"""The processes of a server on one machine: API, keeper and workers, supervised together."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.core.workers.worker import WorkerRange
from smartspider.engine.runtime import SystemClock
from smartspider.engine.supervisor import Supervisor
from smartspider.wiring.processes.keeper_process import keeper_command
from smartspider.wiring.processes.watcher import WatchedProcess, Watcher
from smartspider.wiring.processes.worker_process import fleet_command

BACKLOG = 1024
STOP_TIMEOUT_S = 12.0
"""Time for processes to stop before they are killed; a worker needs up to eight seconds."""
POLL_S = 0.05
LOOPBACK = "127.0.0.1"
SLOTS = 32
"""Maximum number of requests a worker has in flight; the concurrency of each run applies as well."""
ALLOW_PRIVATE = "SMARTSPIDER_ALLOW_PRIVATE"
DEMO_SHOP = "SMARTSPIDER_DEMO_SHOP"


class ProcessSpec(msgspec.Struct, frozen=True):
    """The name and command line of a process."""

    name: str
    command: list[str]
    files: tuple[int, ...] = ()
    """File descriptors it inherits."""
    is_silent: bool = False
    """Its output is discarded even when logs are shown."""


class ElasticWorkers(msgspec.Struct, frozen=True):
    """Worker processes whose number changes within a range. `spec` takes the number of a process."""

    range: WorkerRange
    spec: Callable[[int], ProcessSpec]


class ProcessGroup:
    """A group of child processes. A process that dies is restarted; the others are not affected."""

    def __init__(
        self,
        specs: list[ProcessSpec],
        environment: dict[str, str],
        on_end: Callable[[str, int], None],
        watcher: Watcher,
        *,
        elastic: ElasticWorkers | None = None,
        shows_logs: bool = False,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.elastic = elastic
        self.elastic_numbers: list[int] = []
        """Numbers of the elastic workers that were not released."""
        self.drained = 0
        """Number of elastic workers that were drained by an operator."""
        self.is_only_elastic = not specs
        self._specs = dict(enumerate(specs))
        self._report_end = on_end
        for _ in range(elastic.range.minimum if elastic is not None else 0):
            self._add()
        self._stop_timeout_s = stop_timeout_s
        self._output = None if shows_logs else asyncio.subprocess.DEVNULL
        self._environment = environment
        self._watcher = watcher
        self._supervisor = Supervisor(
            self._spawn,
            len(self._specs),
            SystemClock(),
            self._on_end,
            is_lasting=True,
            is_elastic=elastic is not None,
            is_replaced=watcher.is_replaced,
        )

    async def run(self) -> None:
        """Run until all processes have exited normally; none of them outlives this call."""
        async with self._watcher.watching():
            try:
                await self._supervisor.run()
            except BaseException:
                await self._watcher.terminate_all(self._stop_timeout_s)
                raise

    def stop(self) -> None:
        """Ask all processes to finish their work and exit. Those that do not respond are killed."""
        self._supervisor.stop()
        self._watcher.stop(self._stop_timeout_s)

    def resize(self, count: int) -> None:
        """Set the number of elastic workers: start more, or drain the newest ones."""
        while len(self.elastic_numbers) < count:
            self._supervisor.add(self._add())
        while len(self.elastic_numbers) > count:
            self._supervisor.release(self.elastic_numbers.pop())

    def _add(self) -> int:
        number = max(self._specs, default=-1) + 1
        if self.elastic is not None:
            self._specs[number] = self.elastic.spec(number)
            self.elastic_numbers.append(number)
        return number

    def _on_end(self, number: int, code: int) -> None:
        if code == 0 and number in self.elastic_numbers:
            self.elastic_numbers.remove(number)
            self.drained += 1
        self._report_end(self._specs[number].name, code)

    async def _spawn(self, number: int) -> WatchedProcess:
        spec = self._specs[number]
        return await self._watcher.spawn(
            number,
            spec.name,
            spec.command,
            environment=self._environment,
            files=spec.files,
            stdout=asyncio.subprocess.DEVNULL if spec.is_silent else self._output,
        )


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Open a listening socket. The parent holds that of the API, so clients wait while the API restarts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingInvalid(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint=f"stop the program that uses it, or choose another port with {option}",
        ) from error
    listener.listen(BACKLOG)
    return listener


def worker_specs(data: Path, *, count: int, slots: int, drain_s: float | None = None) -> list[ProcessSpec]:
    """Return the specs of a fixed number of workers."""
    return [
        ProcessSpec(f"worker {number}", fleet_command(data, number, slots, drain_s))
        for number in range(count)
    ]


def elastic_workers(
    data: Path, range_: WorkerRange, *, slots: int, drain_s: float | None = None
) -> ElasticWorkers:
    """Return elastic workers whose driver is this process."""
    driver = os.getpid()

    def spec(number: int) -> ProcessSpec:
        command = fleet_command(data, number, slots, drain_s, driver=driver)
        return ProcessSpec(f"worker {number}", command)

    return ElasticWorkers(range_, spec)


def server_specs(data: Path, listener: socket.socket, *, workers: int) -> list[ProcessSpec]:
    """Return the specs of the processes of a server."""
    api = [sys.executable, "-m", "smartspider.api.process", str(data), "--fd", str(listener.fileno())]
    return [
        ProcessSpec("api", api, (listener.fileno(),)),
        ProcessSpec("keeper", keeper_command(data)),
        *worker_specs(data, count=workers, slots=SLOTS),
    ]


async def wait_for_api(listener: socket.socket, *, is_tls: bool) -> None:
    """Wait until the API responds."""
    host, port = listener.getsockname()[:2]
    tls = _unverified_tls() if is_tls else None
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port, ssl=tls)
            with closing(writer):
                writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                if await reader.readline():
                    return
        await asyncio.sleep(POLL_S)


def _unverified_tls() -> ssl.SSLContext:
    """Return a TLS context without verification: it connects to our own socket."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def demo_shop_spec(port: int) -> tuple[ProcessSpec, str]:
    """Return the spec of the demo shop at a port (0: any free one), and its authority."""
    with listen(LOOPBACK, port, "--demo-port") as probe:
        chosen = probe.getsockname()[1]
    command = [sys.executable, "-m", "smartspider.demo.shop", "--port", str(chosen)]
    return ProcessSpec("the demo shop", command, is_silent=True), f"{LOOPBACK}:{chosen}"


def child_environment(shop: str = "") -> dict[str, str]:
    """Return the environment of child processes: this one's, with the demo shop added, whose private address
    is allowed.
    """
    values = dict(os.environ)
    if shop:
        own = values.get(ALLOW_PRIVATE, "")
        values[ALLOW_PRIVATE] = own if own.strip() == "1" else ",".join(filter(None, (own, shop)))
        values[DEMO_SHOP] = f"http://{shop}/"
    return values
