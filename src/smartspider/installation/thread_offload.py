"""Offload to a thread, for commands: a person who waits for their own work needs no time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadOffload:
    """Runs functions in a thread of this process."""

    async def run(self, work: Callable[..., T], *values: Any, holder: str = "") -> T:
        """Return `work(*values)`."""
        del holder
        return await asyncio.to_thread(work, *values)
