"""Work in a thread that the process does not wait for when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_detached(work: Callable[[], T], let_go: Callable[[T], object]) -> asyncio.Future[T]:
    """Return the result of `work` as a future; a result that is no longer wanted is passed to `let_go`.

    Opening a connection cannot be cancelled, and a server that does not answer would keep a process from
    ending.
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
