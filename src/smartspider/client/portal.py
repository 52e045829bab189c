"""Calls from threads into an event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import wraps
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class Portal:
    """An event loop in a thread of its own, started with the first call."""

    def __init__(self) -> None:
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and return its result. Ctrl-C cancels it."""
        if self.is_closed or threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("the client is closed, or called from its own event loop")
        future: Future[T] = Future()  # created before the work begins, so that an interrupt always cancels it
        loop = self._start()
        try:
            loop.call_soon_threadsafe(_begin, work, future)
            return future.result()
        finally:
            future.cancel()  # no effect if it is done

    def close(self) -> None:
        """Stop the loop and cancel its tasks."""
        self.is_closed = True
        if self._loop is not None and self._thread is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "smartspider-client"
                self._thread = threading.Thread(target=_run_loop, args=(self._loop,), name=name, daemon=True)
                self._thread.start()
            return self._loop


def _begin(work: Coroutine[Any, Any, T], future: Future[T]) -> None:
    """Run a coroutine as a task whose result goes to a future; cancelling the future cancels the task."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)

    def report(task: asyncio.Task[T]) -> None:
        if task.cancelled():
            future.cancel()
            return
        error = task.exception()
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())

    def cancel(future: Future[T]) -> None:
        if future.cancelled():
            loop.call_soon_threadsafe(task.cancel)

    task.add_done_callback(report)
    future.add_done_callback(cancel)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


class Mirror:
    """A synchronous wrapper of an asynchronous object: it waits for coroutines, turns streams into iterators,
    and wraps the client's own objects that they return.
    """

    kinds: ClassVar[dict[type, type[Mirror]]] = {}
    """Wrappers by the class they wrap."""

    def __init__(self, inner: Any, portal: Portal) -> None:
        self._inner, self._portal = inner, portal

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._inner) if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._mirrored(getattr(self._inner, name))

    def _mirrored(self, value: Any) -> Any:
        if inspect.isasyncgenfunction(value):
            return self._streaming(value)
        if inspect.iscoroutinefunction(value):
            return self._waiting(value)
        if inspect.ismethod(value):
            return lambda *args, **more: self._mirrored(value(*args, **more))
        kind = Mirror.kinds.get(type(value))
        return value if kind is None else kind(value, self._portal)

    def _waiting(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        @wraps(method)
        def waiting(*args: Any, **more: Any) -> Any:
            return self._mirrored(self._portal.run(method(*args, **more)))

        return waiting

    def _streaming(self, method: Callable[..., AsyncGenerator[Any]]) -> Callable[..., Iterator[Any]]:
        @wraps(method)
        def streaming(*args: Any, **more: Any) -> Iterator[Any]:
            return self._each(method(*args, **more))

        return streaming

    def _each(self, stream: AsyncGenerator[Any]) -> Iterator[Any]:
        # A caller that stops early drops the stream; the loop closes dropped generators.
        while (found := self._portal.run(_next(stream))) is not None:
            yield self._mirrored(found[0])


async def _next(stream: AsyncGenerator[T]) -> tuple[T] | None:
    """Return the next element; None at the end."""
    async for one in stream:
        return (one,)
    return None
