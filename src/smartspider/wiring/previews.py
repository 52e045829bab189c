"""Looks at pages for whoever asks the API: few at a time, each in a process of its own, nothing kept."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.core import errors
from smartspider.services.preview import Preview
from smartspider.wiring.settings import Settings

if TYPE_CHECKING:
    from smartspider.wiring.premises import Premises
    from smartspider.wiring.preview_process import Asked, Failed, Seen, Told

AT_A_TIME = 2
MOST_WAITING = 8
LONGEST_S = 30.0
GRACE_S = 3.0
"""For a process that cannot end by itself, because an expression does not."""
LARGEST = 16 << 20
RETRY_AFTER_S = 10.0


class Previews:
    """The looks of a server."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(AT_A_TIME)
        self._waiting = 0

    async def of_task(self, premises: Premises, settings: Settings, spec: bytes, pages: int) -> Preview:
        """What a crawl of a task would find on its first pages."""
        told = await self._look(premises, settings, kind="task", task=msgspec.json.decode(spec), pages=pages)
        assert told.preview is not None  # noqa: S101 - that was asked for
        return told.preview

    async def of_page(self, premises: Premises, settings: Settings, url: str, task: dict[str, Any]) -> Seen:
        """What the rules of a task find on a page."""
        told = await self._look(premises, settings, kind="page", task=task, url=url)
        assert told.seen is not None  # noqa: S101 - that was asked for
        return told.seen

    async def _look(self, premises: Premises, settings: Settings, **what: Any) -> Told:
        from smartspider.wiring.preview_process import Asked

        known = Settings(
            allow_private=settings.allow_private,
            contact=settings.contact,
            proxy=settings.proxy,
            store_url=settings.store_url if settings.is_cluster else "",
            frontier_url=settings.frontier_url if settings.is_cluster else "",
        )
        asked = Asked(folder=str(premises.path), settings=known, longest_s=LONGEST_S, **what)
        async with self._turn():
            told = await _told(asked)
        if told.failed is not None:
            raise _error(told.failed)
        return told

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            raise errors.TooMany(
                "too many previews are waiting already",
                retry_after_s=RETRY_AFTER_S,
                hint="try again in a while",
            )
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


async def _told(asked: Asked) -> Told:
    """Ask a process; it is ended when it takes too long, or when nobody waits for it any more."""
    from smartspider.wiring.preview_process import Told, too_long

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "smartspider.wiring.preview_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if not name.startswith("SMARTSPIDER_")},
    )
    try:
        async with asyncio.timeout(asked.longest_s + GRACE_S):
            said = await _conversation(process, msgspec.json.encode(asked))
            await process.wait()
        return msgspec.json.decode(said, type=Told)
    except TimeoutError:
        raise too_long(asked.longest_s) from None
    except (msgspec.DecodeError, ConnectionError):
        raise errors.NotReadable(
            "the look ended without an answer", hint="the page may need too much memory, or its rules"
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # not by `process.kill`, which may reap it before asyncio does
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()


async def _conversation(process: asyncio.subprocess.Process, asked: bytes) -> bytes:
    assert process.stdin is not None  # noqa: S101 - piped
    assert process.stdout is not None  # noqa: S101 - piped
    process.stdin.write(asked)
    process.stdin.close()
    said = bytearray()
    while piece := await process.stdout.read(1 << 16):
        said += piece
        if len(said) > LARGEST:
            raise errors.TooLarge("there is too much on these pages to be shown", hint="ask for fewer pages")
    return bytes(said)


def _error(failed: Failed) -> errors.SmartSpiderError:
    kind: type[errors.SmartSpiderError] = getattr(errors, failed.name, errors.SmartSpiderError)
    if issubclass(kind, errors.RequestInvalid):
        problems = tuple(errors.Problem(one.path, one.message, one.hint) for one in failed.problems)
        return kind(failed.message, problems, hint=failed.hint)
    error: errors.SmartSpiderError = kind(failed.message, hint=failed.hint)
    return error
