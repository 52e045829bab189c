"""Work in a thread that nobody waits for when the process ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_detached(work: Callable[[], T], let_go: Callable[[T], object]) -> asyncio.Future[T]:
    """What comes of the work; where nobody wants that any more, it is let go of.

    A connection that is being opened cannot be called back, and a server that does not answer would keep a
    process from ending for as long as it is waited for.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T) -> None:
        if done.done():
            let_go(result)
        else:
            done.set_result(result)

    def fail(error: BaseException) -> None:
        if not done.done():
            done.set_exception(error)

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(fail, error)
            return
        try:
            loop.call_soon_threadsafe(settle, result)
        except RuntimeError:
            let_go(result)

    threading.Thread(target=run, name="detached", daemon=True).start()
    return done
