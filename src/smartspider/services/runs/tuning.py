"""Show and change the settings of a live run."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import msgspec

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed, RequestInvalid
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.core.runs.tuning import Tuning, settings_of
from smartspider.installation.installation import Installation
from smartspider.services.runs.lookup import owned_run
from smartspider.taskfile.load import parse_spec
from smartspider.views.runs import KnobsView, TunedView, Turned

_tuning = msgspec.json.Decoder(Tuning)


def run_knobs(run: Run) -> KnobsView:
    """Return the settings of a run: those of its task, with later changes applied."""
    knobs = _task_knobs(run.spec)
    if run.tuning is None:
        return knobs
    return msgspec.structs.replace(knobs, **settings_of(_tuning.decode(run.tuning)))


@lru_cache(maxsize=256)
def _task_knobs(spec: bytes) -> KnobsView:
    task = parse_spec(spec)
    polite, limits = task.politeness, task.limits
    depths = [depth for depth in (limits.max_depth, task.scope.max_depth) if depth is not None]
    return KnobsView(
        concurrency=task.concurrency,
        delay_s=polite.delay_s,
        rate_per_s=polite.rate_per_s,
        per_host=polite.per_host,
        priority=task.priority,
        max_pages=limits.max_pages,
        max_items=limits.max_items,
        max_depth=min(depths, default=None),
        max_duration_s=limits.max_duration_s,
        max_errors=limits.max_errors,
    )


def parse_tuning(tuning: Tuning) -> Tuning:
    """Validate changed settings by the bounds of the task file; raise `TaskInvalid`."""
    from pydantic import ValidationError

    from smartspider.taskfile.model.tuning import Knobs
    from smartspider.taskfile.problems import problems_from, task_invalid

    try:
        return cast("Tuning", Knobs.model_validate(tuning).model_dump(exclude_unset=True))
    except ValidationError as error:
        raise task_invalid(problems_from(error)) from error


async def tune(installation: Installation, principal: Principal, run_id: int, tuning: Tuning) -> TunedView:
    """Change settings of an unfinished run; return what changed."""
    run = await owned_run(installation, principal, run_id)
    if not settings_of(tuning):
        raise RequestInvalid(
            "no setting specified", hint="specify one: concurrency, delay_s, rate_per_s, limits, ..."
        )
    if run.state not in UNFINISHED:
        raise NotAllowed(f"run {run.id} is {run.state} and cannot be tuned", hint="start a new run")
    before = run_knobs(run)
    after = run_knobs(await installation.store.tune(run.id, tuning, actor=principal.name))
    changed = {
        name: Turned(old, new)
        for name in KnobsView.__struct_fields__
        if (old := getattr(before, name)) != (new := getattr(after, name))
    }
    return TunedView(str(run.id), changed, after)
