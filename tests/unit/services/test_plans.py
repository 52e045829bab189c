"""Plans of large tasks are made outside the event loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from smartspider.core.runs.run import Run
from smartspider.services.plans import LARGE_SPEC, load_plan, run_columns, untuned_plan

T = TypeVar("T")


class CountingOffload:
    """Runs work at once, and counts it."""

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, work: Callable[..., T], *values: Any, holder: str = "") -> T:
        """Return `work(*values)`."""
        del holder
        self.calls += 1
        return work(*values)


def run_of(urls: int) -> Run:
    task = {
        "name": f"t{urls}",
        "entry_urls": [f"http://h.example/{number:06}" for number in range(urls)],
        "selectors": {"fields": {"a": "p"}},
    }
    fields = {field.name: None for field in msgspec.structs.fields(Run) if field.required}
    return Run(**{**fields, "spec": json.dumps(task).encode()})  # type: ignore[arg-type] # only the spec is read


async def test_the_plan_of_a_large_task_is_made_elsewhere_and_once() -> None:
    offload, run = CountingOffload(), run_of(LARGE_SPEC // 20)
    await load_plan(offload, run)
    await load_plan(offload, run)
    assert offload.calls == 1
    assert len(untuned_plan(run).entries) == LARGE_SPEC // 20
    assert [column.name for column in run_columns(run)] == ["a"]


async def test_the_plan_of_a_small_task_is_made_on_the_spot() -> None:
    offload, run = CountingOffload(), run_of(3)
    await load_plan(offload, run)
    assert offload.calls == 0
    assert untuned_plan(run) is untuned_plan(run)
