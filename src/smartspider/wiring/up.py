"""Everything in one command: API, keeper and workers, each a process of its own, kept alive together."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.core.workers.worker import WorkerRange
from smartspider.engine.runtime import SystemClock
from smartspider.engine.supervisor import Supervisor
from smartspider.wiring.keeper_process import keeper_command
from smartspider.wiring.worker_process import fleet_command

BACKLOG = 1024
PATIENCE_S = 12.0
"""How long processes that were asked to stop may take; a worker needs up to eight seconds."""
ANSWER_S = 0.05
LOOPBACK = "127.0.0.1"
SLOTS = 32
"""Requests a worker has in flight at most; of a run it is the run's concurrency at most."""
ALLOW_PRIVATE = "SMARTSPIDER_ALLOW_PRIVATE"


class Post(msgspec.Struct, frozen=True):
    """A process of the house: what it is called, and how it is started."""

    name: str
    command: list[str]
    files: tuple[int, ...] = ()
    """Open files it inherits."""
    is_silent: bool = False
    """What it prints is no log."""


class Crew(msgspec.Struct, frozen=True):
    """Workers that come and go: how many there are, and how one of them is started, by its number."""

    span: WorkerRange
    post: Callable[[int], Post]


class Staff:
    """The processes of a server. One that dies is started again; the others never notice."""

    def __init__(
        self,
        posts: list[Post],
        environment: dict[str, str],
        on_end: Callable[[str, int], None],
        *,
        crew: Crew | None = None,
        shows_logs: bool = False,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.crew = crew
        self.crew_numbers: list[int] = []
        """Of the crew, those that were not asked to leave."""
        self.crew_drained = 0
        """How many of the crew left because somebody else asked them to."""
        self.is_crew_alone = not posts
        first = crew.span.minimum if crew is not None else 0
        self._posts = dict(enumerate(posts))
        self._tell_end = on_end
        for _ in range(first):
            self._hire()
        self._patience_s = patience_s
        self._output = None if shows_logs else asyncio.subprocess.DEVNULL
        self._environment = environment
        self._started: list[Process] = []
        self._supervisor = Supervisor(
            self._spawn,
            len(self._posts),
            SystemClock(),
            self._on_end,
            is_lasting=True,
            is_elastic=crew is not None,
        )

    async def run(self) -> None:
        """Come back when everybody has left in good order."""
        try:
            await self._supervisor.run()
        finally:
            await self._see_off()

    def stop(self) -> None:
        """Ask everybody to finish what they are at and leave."""
        self._supervisor.stop()

    def resize(self, count: int) -> None:
        """Have so many in the crew: more are started, or the newest finish what they hold and leave."""
        while len(self.crew_numbers) < count:
            self._supervisor.add(self._hire())
        while len(self.crew_numbers) > count:
            self._supervisor.release(self.crew_numbers.pop())

    def _hire(self) -> int:
        number = max(self._posts, default=-1) + 1
        if self.crew is not None:
            self._posts[number] = self.crew.post(number)
            self.crew_numbers.append(number)
        return number

    def _on_end(self, number: int, code: int) -> None:
        if code == 0 and number in self.crew_numbers:
            self.crew_numbers.remove(number)
            self.crew_drained += 1
        self._tell_end(self._posts[number].name, code)

    async def _spawn(self, number: int) -> Process:
        post = self._posts[number]
        # They read from a pipe that nobody else holds open, so they end when this process does, however
        # that ends; Ctrl-C is for this process alone, which then stops them.
        process = await asyncio.create_subprocess_exec(
            *post.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL if post.is_silent else self._output,
            start_new_session=True,
            pass_fds=post.files,
            env=self._environment,
        )
        self._started = [one for one in self._started if one.returncode is None] + [process]
        return process

    async def _see_off(self) -> None:
        left = [process for process in self._started if process.returncode is None]
        for process in left:
            process.terminate()
        for process in left:
            try:
                async with asyncio.timeout(self._patience_s):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


def listen(host: str, port: int) -> socket.socket:
    """A socket for the API, held by the parent: callers wait while the API starts again."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingInvalid(
            f"{host}:{port} cannot be listened on: {error.strerror or error}",
            hint="stop what is there, or choose another one with --port",
        ) from error
    listener.listen(BACKLOG)
    return listener


def worker_posts(data: Path, *, count: int, slots: int, drain_s: float | None = None) -> list[Post]:
    """Workers of a server."""
    return [Post(f"worker {number}", fleet_command(data, number, slots, drain_s)) for number in range(count)]


def crew_of(data: Path, span: WorkerRange, *, slots: int, drain_s: float | None = None) -> Crew:
    """Workers that come and go with what there is to do."""
    driver = os.getpid()

    def post(number: int) -> Post:
        command = fleet_command(data, number, slots, drain_s, driver=driver)
        return Post(f"worker {number}", command)

    return Crew(span, post)


def posts(data: Path, listener: socket.socket, *, workers: int) -> list[Post]:
    """The processes of a server."""
    api = [sys.executable, "-m", "smartspider.api.process", str(data), "--fd", str(listener.fileno())]
    return [
        Post("api", api, (listener.fileno(),)),
        Post("keeper", keeper_command(data)),
        *worker_posts(data, count=workers, slots=SLOTS),
    ]


async def answers(listener: socket.socket, *, is_tls: bool) -> None:
    """Come back when the API answers."""
    host, port = listener.getsockname()[:2]
    tls = _trusting() if is_tls else None
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port, ssl=tls)
            with closing(writer):
                writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                if await reader.readline():
                    return
        await asyncio.sleep(ANSWER_S)


def _trusting() -> ssl.SSLContext:
    """A context that asks for no certificate: it is our own socket that is asked."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shop_post(port: int) -> tuple[Post, str]:
    """The demo shop as one of the staff, at a port (0: any that is free), and its authority."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise SettingInvalid(
                f"port {port}, where the demo shop would be, is taken: {error.strerror or error}",
                hint="stop what is there, or choose another one with --demo-port",
            ) from error
        chosen = probe.getsockname()[1]
    command = [sys.executable, "-m", "smartspider.demo.shop", "--port", str(chosen)]
    return Post("the demo shop", command, is_silent=True), f"{LOOPBACK}:{chosen}"


def environment(allow: str = "") -> dict[str, str]:
    """The environment of the staff: this one's, with a further private address open to crawls."""
    values = dict(os.environ)
    if allow:
        own = values.get(ALLOW_PRIVATE, "")
        values[ALLOW_PRIVATE] = own if own.strip() == "1" else ",".join(filter(None, (own, allow)))
    return values
