"""Offload to processes: a few, kept for the next call, and replaced when a call exceeds its time limit."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.services.fair_limit import FairLimit, SlotLimits
from smartspider.wiring.offload.offload_process import LENGTH, OffloadCall, encode_frame

T = TypeVar("T")


class OffloadLimits(msgspec.Struct, frozen=True):
    """Limits of calls: the number at a time, and the time of each."""

    slots: SlotLimits = SlotLimits(total=2, reserve=1, waiting=64)
    time_limit_s: float = 10.0
    grace_s: float = 5.0
    """Time for starting a process and for the answer."""


class ProcessOffload:
    """Runs functions in processes of its own. Close it with the server."""

    def __init__(self, limits: OffloadLimits = OffloadLimits()) -> None:
        self.slots = FairLimit("checks", limits.slots)
        self._limits = limits
        self._free: list[asyncio.subprocess.Process] = []
        self._all: set[asyncio.subprocess.Process] = set()

    async def run(self, work: Callable[..., T], *values: Any, holder: str = "") -> T:
        """Return `work(*values)`; raise `RequestInvalid` at the time limit, or its own error."""
        call = encode_frame(OffloadCall(work, values, self._limits.time_limit_s))
        async with self.slots.turn(holder):
            is_done, result = await self._call(call)
        if not is_done:
            raise result
        returned: T = result
        return returned

    async def close(self) -> None:
        """End all processes."""
        self._free.clear()
        for process in list(self._all):
            await self._end(process)

    async def _call(self, call: bytes) -> tuple[bool, Any]:
        process = self._free.pop() if self._free else await self._start()
        try:
            async with asyncio.timeout(self._limits.time_limit_s + self._limits.grace_s):
                answer = await _exchange(process, call)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            await self._end(process)
            raise self._exceeded(process.returncode) from None
        except BaseException:
            await self._end(process)
            raise
        self._free.append(process)
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "smartspider.wiring.offload.offload_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith("SMARTSPIDER_")},
        )
        self._all.add(process)
        return process

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        self._all.discard(process)

    def _exceeded(self, returncode: int | None) -> RequestInvalid:
        if returncode in (-signal.SIGALRM, -signal.SIGKILL):
            what = f"checking the request took more than {self._limits.time_limit_s:g} s"
        else:
            what = "checking the request needs too much memory"
        return RequestInvalid(what, hint="make the task smaller, or its patterns simpler")


async def _exchange(process: asyncio.subprocess.Process, call: bytes) -> tuple[bool, Any]:
    assert process.stdin is not None  # noqa: S101 - piped
    assert process.stdout is not None  # noqa: S101 - piped
    process.stdin.write(call)
    await process.stdin.drain()
    (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
    answer: tuple[bool, Any] = pickle.loads(await process.stdout.readexactly(length))  # noqa: S301 - our own
    return answer
