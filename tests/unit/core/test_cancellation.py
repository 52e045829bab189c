"""Cancellation is propagated even if a library swallows it."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.cancellation import propagate_cancellation


async def test_cleanup_after_a_cancellation_may_still_call() -> None:
    async def tidying() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with propagate_cancellation():
                await asyncio.sleep(0)
            return "tidy"
        raise AssertionError

    task = asyncio.create_task(tidying())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "tidy"


async def test_a_cancellation_counts_more_than_what_was_raised_in_its_place() -> None:
    async def raising() -> None:
        with propagate_cancellation():
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError("the transport is closed")

    task = asyncio.create_task(raising())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
