"""Settings of a run that change while it runs. All functions run inside a transaction."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from smartspider.core.errors import NotAllowed, RequestInvalid
from smartspider.core.requests.politeness import PolitenessPolicy, shared_delay_s
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import FINISHED
from smartspider.core.runs.tuning import LimitTuning, Tuning, merged, settings_of
from smartspider.store import audit, events
from smartspider.store.database import Connection, row
from smartspider.store.runs import lifecycle

SQL = lifecycle.SQL

_tuning = msgspec.json.Decoder(Tuning)

Settings = dict[str, Any]
"""Settings by name, limits included."""


def tune(connection: Connection, run_id: int, tuning: Tuning, now: float, actor: str) -> None:
    """Change settings of a run, and write the changes to the audit log and the events. They apply from the
    next lease on.
    """
    if not settings_of(tuning):
        raise RequestInvalid("no setting specified", hint="name at least one, such as concurrency or delay_s")
    run = lifecycle.read_run(connection, run_id)
    if run.state in FINISHED:
        raise NotAllowed(
            f"run {run_id} is {run.state}, so its settings cannot be changed",
            hint="change the task and start another run of it",
        )
    task, older = _stored(connection, run_id)
    newer = merged(older, tuning)
    was, is_now = task | settings_of(older), task | settings_of(newer)
    changed = {name: {"from": was[name], "to": is_now[name]} for name in was if was[name] != is_now[name]}
    if not changed:
        return
    _write(connection, run_id, newer, is_now)
    connection.frontier.run_changed(run_id)
    audit.write(connection, now, actor, "run.tuned", f"run:{run_id}", **changed)
    for what in _less_polite(task, was, is_now):
        audit.write(connection, now, actor, "politeness.overridden", f"run:{run_id}", what=what)
    events.write(connection, run_id, "run.tuned", {"changed": changed, "revision": run.revision + 1}, now)
    turned = lifecycle.read_run(connection, run_id)
    if run.state == "running" and (limit := lifecycle.limit_reached(connection, turned, now)):
        lifecycle.change_state(connection, run, "stopping", limit, now)


def encode_knobs(plan: Plan) -> bytes:
    """Encode all settings of a plan that can be changed."""
    knobs = Tuning(
        concurrency=plan.concurrency,
        delay_s=plan.politeness.delay_s,
        rate_per_s=plan.politeness.rate_per_s,
        per_host=plan.politeness.per_host,
        priority=plan.weight - 1,
        limits=cast("LimitTuning", msgspec.structs.asdict(plan.limits)),
    )
    return msgspec.json.encode(knobs)


def decode(stored: bytes) -> Tuning:
    """Decode stored settings."""
    return _tuning.decode(stored)


def _stored(connection: Connection, run_id: int) -> tuple[Settings, Tuning]:
    """Return all settings of the task, and those changed since."""
    found = row(connection, SQL.knobs, (run_id,))
    assert found is not None  # noqa: S101 - the run was read in this transaction
    knobs, tuning, *columns = found
    settings = _fallback(*columns) if knobs is None else settings_of(decode(knobs))
    return settings, {} if tuning is None else decode(tuning)


def _fallback(concurrency: int, weight: int, delay_s: float, per_host: int, *limits: Any) -> Settings:
    """Return the settings of a run whose stored ones were removed by fsck: its rate is part of its delay."""
    max_pages, max_items, max_duration_s, max_errors = limits
    return {
        "concurrency": concurrency,
        "delay_s": delay_s,
        "rate_per_s": None,
        "per_host": per_host,
        "priority": weight - 1,
        "max_pages": max_pages,
        "max_items": max_items,
        "max_depth": None,
        "max_duration_s": max_duration_s,
        "max_errors": max_errors,
    }


def _spacing_s(settings: Settings) -> float:
    return PolitenessPolicy(delay_s=settings["delay_s"], rate_per_s=settings["rate_per_s"]).spacing_s


def _write(connection: Connection, run_id: int, tuning: Tuning, settings: Settings) -> None:
    connection.execute(
        SQL.tune,
        (
            *(
                msgspec.json.encode(tuning),
                settings["concurrency"],
                settings["priority"] + 1,
                _spacing_s(settings),
                shared_delay_s(_spacing_s(settings)),
            ),
            *(settings["per_host"], settings["max_pages"], settings["max_items"], settings["max_duration_s"]),
            *(settings["max_errors"], run_id),
        ),
    )


def _less_polite(task: Settings, was: Settings, is_now: Settings) -> list[str]:
    """Return the changed settings that make the run less polite than its task, in words for the audit log."""
    found = []
    spacing_s, asked_s = _spacing_s(is_now), _spacing_s(task)
    if spacing_s != _spacing_s(was) and spacing_s < asked_s:
        found.append(f"requests to a host are {spacing_s:g} s apart instead of {asked_s:g} s (run tuned)")
    if is_now["per_host"] != was["per_host"] and is_now["per_host"] > task["per_host"]:
        found.append(
            f"{is_now['per_host']} requests to a host at a time instead of {task['per_host']} (run tuned)"
        )
    return found
