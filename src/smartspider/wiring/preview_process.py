"""A look at pages as a process of its own: `python -m smartspider.wiring.preview_process`, asked by stdin.

Pages and expressions that somebody sends may take for ever or all memory; here they take that of one look.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from smartspider.core.errors import RequestInvalid, SmartSpiderError, TimedOut
from smartspider.core.page import Page
from smartspider.engine.permits import GatePermit
from smartspider.services.preview import Preview
from smartspider.services.trying import Tried, try_rules
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.views.problem import Wrong, wrongs
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.fetch_one import Way, fetch_by
from smartspider.wiring.loop import run_loop
from smartspider.wiring.opening import open_premises
from smartspider.wiring.premises import Premises
from smartspider.wiring.previewing import preview_task
from smartspider.wiring.settings import Settings
from smartspider.wiring.shared_gates import OutsideGate, share_gates

MOST_MEMORY = 2 << 30


class Asked(msgspec.Struct, frozen=True):
    """What to look at: the first `pages` of a task, or one URL with the rules of a task."""

    kind: Literal["task", "page"]
    folder: str
    settings: Settings
    task: Any
    longest_s: float
    url: str = ""
    pages: int = 1


class Seen(msgspec.Struct, frozen=True):
    """One URL as it was found, and what the rules found on it."""

    url: str
    status: int
    tried: Tried


class Failed(msgspec.Struct, frozen=True):
    """Why nothing was found, by the name of the error."""

    name: str
    message: str
    hint: str
    problems: list[Wrong]


class Told(msgspec.Struct, frozen=True):
    """What came of it: one of these."""

    preview: Preview | None = None
    seen: Seen | None = None
    failed: Failed | None = None


async def look(asked: Asked) -> Told:
    """Do what was asked; errors are told."""
    try:
        async with asyncio.timeout(asked.longest_s):
            async with open_premises(Path(asked.folder), asked.settings) as premises:
                if asked.kind == "page":
                    return Told(seen=await _look_at_page(asked, premises))
                return Told(preview=await _look_at_task(asked, premises))
    except TimeoutError:
        return Told(failed=_failed(too_long(asked.longest_s)))
    except SmartSpiderError as error:
        return Told(failed=_failed(error))


def too_long(longest_s: float) -> TimedOut:
    """A look that did not end."""
    return TimedOut(
        f"the look took more than {longest_s:g} s",
        hint="the site is slow, or its gate is closed for a while; fewer pages take less time",
    )


async def _look_at_page(asked: Asked, premises: Premises) -> Seen:
    gate = OutsideGate(premises.permits)
    way = Way(
        asked.settings,
        server_policy(asked.settings),
        premises.clock,
        lambda host: GatePermit(gate, premises.clock, host, None),
        premises.store,
    )
    page: Page = await fetch_by(way, asked.url, compile_task(parse_task(asked.task)).fetch)
    return Seen(page.url, page.status, try_rules(asked.task, page))


async def _look_at_task(asked: Asked, premises: Premises) -> Preview:
    plan = compile_task(parse_task(asked.task))
    once = msgspec.structs.replace(plan.retry, max_attempts=1)  # somebody waits for the answer
    plan = msgspec.structs.replace(plan, retry=once)
    return await preview_task(
        plan,
        asked.settings,
        limit=asked.pages,
        is_server=True,
        gated=lambda own: share_gates(own, premises.permits),
    )


def _failed(error: SmartSpiderError) -> Failed:
    wrong = wrongs(error.problems) if isinstance(error, RequestInvalid) else []
    return Failed(type(error).__name__, error.message, error.hint, wrong)


def main() -> int:
    """The process."""
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Asked)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    sys.stdout.buffer.write(msgspec.json.encode(run_loop(look(asked)), enc_hook=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
