"""What layers in front of the store tell those who look: how many distinct URLs there are, and their memory.

Looking never waits for a layer that is away, and never fails with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TypeVar

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs import Run
from smartspider.interfaces.metric_store import Key
from smartspider.interfaces.seen import Layers, SeenKey, SeenSize
from smartspider.services.doctor import Check

WAIT_S = 0.5
WARN_SHARE = 0.8
ERROR = 0.0081
"""The standard error of an estimate, as a share of it: two of three are nearer than that."""

COUNTED = "smartspider_known_urls_total"
LABELS = {"bloom": "lossy"}
"""Of layers that are counted by another name."""
ADVICE = "give it more by SMARTSPIDER_DEDUP_MEMORY, or the store is asked"

T = TypeVar("T")


class Distinct(msgspec.Struct, frozen=True):
    """About how many distinct URLs there are; None where nobody counts them."""

    of_run: int | None = None
    of_task: int | None = None
    """Of all runs of the task together."""

    @property
    def error(self) -> float | None:
        """See `ERROR`."""
        return ERROR if self.of_run is not None else None


async def distinct(layers: Layers, run: Run) -> Distinct:
    """About how many distinct URLs a run and its task have met."""
    if layers.estimates is None:
        return Distinct()
    of_run, of_task = SeenKey("run", run.id), SeenKey("task", run.task_id)
    about = await _or_none(layers.estimates.about([of_run, of_task])) or {}
    return Distinct(about.get(of_run) or None, about.get(of_task) or None)


async def sizes(layers: Layers) -> dict[str, SeenSize]:
    """How large layers are that have a budget, by name; one that does not answer is left out."""
    asked = {"exact": layers.exact, "bloom": layers.lossy}
    found = {name: await _or_none(layer.size()) for name, layer in asked.items() if layer is not None}
    return {name: size for name, size in found.items() if size is not None}


def check_layer(name: str, size: SeenSize, sums: Mapping[Key, float]) -> Check:
    """Whether a layer has room, and what it was asked so far; `sums` are those of the installation."""
    used = f"{size.bytes_used / 1e6:.1f} of {size.bytes_max / 1e6:.0f} MB ({size.share:.0%})".replace(
        "%", " %"
    )
    asked = {
        outcome: int(sums.get((COUNTED, (("layer", LABELS.get(name, name)), ("outcome", outcome))), 0.0))
        for outcome in ("hits", "misses", "refused")
    }
    detail = ", ".join([used, *(f"{number} {outcome}" for outcome, number in asked.items())])
    is_ok = size.share < WARN_SHARE
    return Check(f"known URLs, {name}", is_ok, detail if is_ok else f"{detail}: {ADVICE}")


async def _or_none(answer: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(WAIT_S):
            return await answer
    except (StoreUnavailable, TimeoutError):
        return None
