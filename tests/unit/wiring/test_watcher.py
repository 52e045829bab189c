"""Child processes that freeze, and the supervisors that end them; the children are tiny real processes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.unit.core.test_process_watch import LEASE

from smartspider.core.workers.activity import ActivityRecord
from smartspider.core.workers.watch import POLL_S, Drain, Kill, WatchLimits
from smartspider.engine.runtime import SystemClock
from smartspider.engine.supervisor import Supervisor
from smartspider.installation.settings import Settings
from smartspider.wiring.processes.losses import Supervision
from smartspider.wiring.processes.watcher import VANISHED, WatchedProcess, Watcher
from smartspider_testing.waiting import WAIT_S, running

LIMITS = WatchLimits(stall_s=0.5, grace_s=0.25, stop_s=0.5)
BEGIN = """
import signal, sys, time
from smartspider.core.workers import activity
from smartspider.wiring.processes.sampling import share_inherited
share_inherited()
signal.signal(signal.SIGTERM, lambda *_: None)
activity.tick(7)
"""
FROZEN = f"{BEGIN}\nprint('ready', flush=True)\nsum(range(10**12))"
"""The loop ran once; since then code in C holds the interpreter lock."""
DEAF = f"{BEGIN}\nprint('ready', flush=True)\nwhile True: time.sleep(0.01), activity.tick(7)"
WELL = ""


class Told(Supervision, frozen=True):
    """A supervision that only remembers what it was told."""

    kills: list[Kill] = []
    is_ending: bool = False
    released: list[int] = []

    async def report(self, kill: Kill, worker: str) -> str:
        self.kills.append(kill)
        return f"{worker} was killed"

    async def report_drain(self, drain: Drain, worker: str) -> str:
        raise AssertionError(drain, worker)

    async def release_others(self, doing: ActivityRecord) -> None:
        self.released.append(doing.url_id)

    async def is_unwanted(self, worker_id: int) -> bool:
        assert worker_id == 7
        return self.is_ending


def told(limits: WatchLimits = LIMITS, *, is_ending: bool = False) -> Told:
    return Told(Path("nowhere"), Settings(watch=limits), [], is_ending, [])


def supervised(watcher: Watcher, scripts: list[str]) -> Supervisor:
    async def spawn(number: int) -> WatchedProcess:
        return await watcher.spawn(number, f"worker {number}", [sys.executable, "-c", scripts.pop(0)])

    def on_end(number: int, code: int) -> None:
        assert (number, code) == (0, 0)

    return Supervisor(spawn, 1, SystemClock(), on_end, is_replaced=watcher.is_replaced)


async def test_a_frozen_process_is_killed_and_another_takes_its_place() -> None:
    supervision, scripts = told(), [FROZEN, WELL]
    lines: list[str] = []
    watcher = Watcher(supervision, lines.append)
    async with watcher.watching():
        await supervised(watcher, scripts).run()
    assert scripts == []
    assert lines == ["worker 0 was killed"]
    assert [kill.cause for kill in supervision.kills] == ["stall"]
    assert supervision.kills[0].activity.worker_id == 7


READING = """
from tests.unit.core.test_process_watch import LEASE
activity.begin(LEASE)
activity.enter(activity.PARSE)
"""
THAWING = f"{BEGIN}{READING}time.sleep(1.0)\nactivity.end()\nactivity.tick(7)"


async def test_another_process_takes_the_place_of_one_that_reads_for_long() -> None:
    """The first one reads its page to the end, and is not killed."""
    supervision, scripts = told(WatchLimits(stall_s=60.0, aside_s=0.3)), [THAWING, WELL]
    watcher = Watcher(supervision, lambda _text: None)
    async with watcher.watching(), asyncio.timeout(WAIT_S):
        await supervised(watcher, scripts).run()
        (aside,) = watcher.set_aside()
        assert await aside.process.wait() == 0
    assert scripts == []
    assert supervision.released == [LEASE.url_id]
    assert supervision.kills == []


async def test_a_page_that_is_never_read_ends_a_process_that_was_set_aside() -> None:
    supervision = told(WatchLimits(stall_s=1.0, grace_s=0.25, aside_s=0.3))
    watcher = Watcher(supervision, lambda _text: None)
    async with watcher.watching(), asyncio.timeout(WAIT_S):
        watched = await started(watcher, ENDLESS)
        assert await watched.wait() == 0
        assert watched.returncode is None
        assert watcher.is_replaced(0)
        assert await watched.process.wait() == -signal.SIGKILL
    assert [(kill.cause, kill.has_culprit) for kill in supervision.kills] == [("stall", True)]


ENDLESS = f"{BEGIN}{READING}print('ready', flush=True)\nsum(range(10**12))"
HELD = f"""{BEGIN}
print('ready', flush=True)
while not activity.held_runs(): time.sleep(0.01), activity.tick(7)
print(*activity.held_runs(), flush=True)
while True: time.sleep(0.01), activity.tick(7)
"""


async def test_only_one_worker_takes_requests_of_a_run_that_held_a_process_up() -> None:
    watcher = Watcher(told(WatchLimits(stall_s=60.0, aside_s=0.3)), lambda _text: None)
    async with watcher.watching(), asyncio.timeout(WAIT_S):
        taker = await started(watcher, HELD, 1)
        assert await (await started(watcher, ENDLESS, 2)).wait() == 0
        other = await started(watcher, HELD, 2)
        assert other.process.stdout is not None
        assert int(await other.process.stdout.readline()) == LEASE.run_id
        taker.send_signal(signal.SIGKILL)
        assert taker.process.stdout is not None
        assert await taker.process.stdout.read() == b""


async def test_the_workers_of_one_run_have_no_neighbours_to_spare() -> None:
    limits = WatchLimits(stall_s=60.0, aside_s=0.3)
    watcher = Watcher(told(limits), lambda _text: None, has_neighbours=False)
    async with watcher.watching(), asyncio.timeout(WAIT_S):
        assert await (await started(watcher, ENDLESS, 2)).wait() == 0
        other = await started(watcher, HELD, 2)
        await asyncio.sleep(4 * POLL_S)  # nothing is held, and nobody says so
        other.send_signal(signal.SIGKILL)
        assert other.process.stdout is not None
        assert await other.process.stdout.read() == b""


async def test_a_frozen_process_ends_soon_after_a_stop() -> None:
    supervision = told(WatchLimits(stall_s=60.0, stop_s=0.5))
    watcher = Watcher(supervision, lambda _text: None)
    async with watcher.watching():
        process = await started(watcher, FROZEN)
        process.send_signal(signal.SIGTERM)
        watcher.stop(60.0)
        async with asyncio.timeout(WAIT_S):
            assert await process.wait() == -signal.SIGKILL
    assert [kill.cause for kill in supervision.kills] == ["stop"]


async def test_a_frozen_process_ends_soon_after_a_run_of_its_requests_is_cancelled() -> None:
    supervision = told(WatchLimits(stall_s=60.0, stop_s=0.5), is_ending=True)
    watcher = Watcher(supervision, lambda _text: None)
    async with watcher.watching(), asyncio.timeout(WAIT_S):
        await supervised(watcher, [FROZEN, WELL]).run()
    assert [kill.cause for kill in supervision.kills] == ["stop"]


async def test_a_process_that_ignores_a_stop_is_killed_at_its_time() -> None:
    watcher = Watcher(told(), lambda _text: None)
    async with watcher.watching():
        process = await started(watcher, DEAF)
        process.send_signal(signal.SIGTERM)
        watcher.stop(0.3)
        async with asyncio.timeout(WAIT_S):
            assert await process.wait() == -signal.SIGKILL


async def started(watcher: Watcher, script: str, number: int = 0) -> WatchedProcess:
    """A process that has said that it is ready."""
    command = [sys.executable, "-c", script]
    watched = await watcher.spawn(number, "worker", command, stdout=asyncio.subprocess.PIPE)
    assert watched.process.stdout is not None
    assert await watched.process.stdout.readline() == b"ready\n"
    return watched


async def test_no_process_outlives_the_watcher() -> None:
    watcher = Watcher(told(WatchLimits(stall_s=60.0)), lambda _text: None)
    async with watcher.watching():
        process = await watcher.spawn(0, "worker 0", [sys.executable, "-c", FROZEN])
    assert process.returncode == -signal.SIGKILL


PARENT = """
import os, sys, time
from smartspider.engine.runtime import die_with_parent
if os.fork() == 0:
    die_with_parent()
    print(os.getpid(), flush=True)
    sum(range(10**12))
time.sleep(600)
"""


def test_the_kernel_ends_a_frozen_child_when_its_parent_is_killed() -> None:
    with running([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not is_running(child))


GUARDED = """
import os, signal, sys, time
import msgspec
from pathlib import Path
from smartspider.core.workers import activity
from smartspider.core.workers.watch import WatchLimits
from smartspider.installation.settings import Settings
from smartspider.wiring.processes.guard import guarded
from smartspider.wiring.processes.losses import Supervision


class Told(Supervision, frozen=True):
    async def report(self, kill, worker):
        return f"{worker} {kill.cause}"

    async def is_unwanted(self, worker_id):
        return False


def freeze():
    signal.signal(signal.SIGINT, lambda *_: None)
    activity.tick(7)
    print("frozen", flush=True)
    sum(range(10**12))


limits = WatchLimits(stall_s=STALL_S, grace_s=0.25, stop_s=0.5)
restart = guarded(Told(Path("nowhere"), Settings(watch=limits)), "it", lambda text: print(text, flush=True))
"""


def start_guarded(script: str, *, stall_s: float = 0.5) -> AbstractContextManager[subprocess.Popen[str]]:
    """A program that is guarded before it runs `script`."""
    text = GUARDED.replace("STALL_S", str(stall_s)) + script
    return running([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("code", [0, 7, 130])
def test_a_guard_exits_as_its_child_exits(code: int) -> None:
    with start_guarded(f"sys.exit({code})") as program:
        assert program.wait(WAIT_S) == code


def test_a_guard_ends_by_the_signal_that_ended_its_child() -> None:
    with start_guarded("os.kill(os.getpid(), signal.SIGKILL)") as program:
        assert program.wait(WAIT_S) == -signal.SIGKILL


def test_a_guarded_program_that_vanishes_gives_exit_code_6() -> None:
    with start_guarded("os._exit(0)") as program:
        assert program.wait(30) == VANISHED


OUTLIVED = """
import os, signal, sys, threading, time
from smartspider.engine.runtime import end_process
from smartspider.wiring.processes.guard import outlived

outlived()
"""


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("os._exit(0)", VANISHED),
        ("os._exit(3)", VANISHED),
        ("sys.exit(3)", 3),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("threading.Thread(target=time.sleep, args=(600,)).start()\nend_process(4)", 4),
        ("1 / 0", 1),
    ],
)
def test_a_program_that_is_outlived_ends_as_its_child_does_unless_that_vanishes(
    script: str, code: int
) -> None:
    assert (
        subprocess.run([sys.executable, "-c", OUTLIVED + script], timeout=60, check=False).returncode == code
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_outlived_passes_signals_on(number: signal.Signals) -> None:
    script = f"""
signal.signal({number}, lambda *_: sys.exit(3))
print("ready", flush=True)
time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", OUTLIVED + script], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.send_signal(number)
        assert program.wait(30) == 3


def test_a_guarded_program_that_freezes_continues_in_another_child() -> None:
    with start_guarded("if restart is None: freeze()\nprint('resumed', restart.is_stopping)") as program:
        out, _ = program.communicate(timeout=WAIT_S)
    assert program.returncode == 0
    assert out.split("\n") == ["frozen", "it stall", "resumed False", ""]


def test_a_frozen_program_stops_when_it_is_asked_to() -> None:
    script = "if restart is None: freeze()\nprint('stopping', restart.is_stopping)\nsys.exit(130)"
    with start_guarded(script, stall_s=60.0) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "frozen\n"
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=WAIT_S)
    assert (program.returncode, out) == (130, "it stop\nstopping True\n")


def test_a_guard_passes_signals_on() -> None:
    script = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("ready", flush=True)
time.sleep(600)
"""
    with start_guarded(script) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        program.terminate()
        assert program.wait(WAIT_S) == 3


def test_a_child_ends_with_its_guard() -> None:
    with start_guarded("print(os.getpid(), flush=True)\nfreeze()", stall_s=60.0) as program:
        assert program.stdout is not None
        child = int(program.stdout.readline())
        program.kill()
    wait_until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    """True unless the process has ended; one that nobody waits for is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
