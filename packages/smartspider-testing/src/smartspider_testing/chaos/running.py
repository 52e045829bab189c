"""Faults, one after the other, each on a cluster of its own."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from smartspider_testing.chaos import judge
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.outcome import Outcome
from smartspider_testing.chaos.scene import READY_S, Said, Scene
from smartspider_testing.chaos.staff import Overdue
from smartspider_testing.servers import NotInstalled, NotPossibleHere, ServerFailed

UNREACHABLE = 5
"""How a command ends that found the store or the frontier away."""


class Size(msgspec.Struct, frozen=True):
    """Other numbers than the faults have by themselves; None: theirs."""

    pages: int | None = None
    workers: int | None = None


def run_faults(
    faults: Iterable[Fault],
    size: Size,
    kept: Path | None = None,
    on_outcome: Callable[[Outcome], None] = lambda _outcome: None,
) -> list[Outcome]:
    """Try the faults in order. What they leave is kept below `kept`; without it, only of failed ones."""
    root = kept or Path(tempfile.mkdtemp(prefix="smartspider-chaos-"))
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)  # PostgreSQL comes in as another user
    outcomes = []
    for fault in faults:
        outcome = run_fault(fault, root, size)
        if kept is None and not outcome.problems:
            shutil.rmtree(root / fault.name, ignore_errors=True)
        on_outcome(outcome)
        outcomes.append(outcome)
    if kept is None and not any(outcome.problems for outcome in outcomes):
        shutil.rmtree(root, ignore_errors=True)
    return outcomes


def run_fault(fault: Fault, root: Path, size: Size) -> Outcome:
    """One fault from an empty cluster to a verdict; whatever goes wrong is part of the outcome."""
    started_at = time.monotonic()
    folder = _fresh(root / fault.name)
    setup = replace(
        fault.setup,
        pages=size.pages or fault.setup.pages,
        workers=size.workers or fault.setup.workers,
    )
    outcome = Outcome(fault.name, fault.row, fault.expected, delay_s=setup.delay_s)
    scene = Scene(folder, setup, root / "initialised")
    try:
        with scene:
            _live(fault, scene)
            outcome = _judged(fault, scene, outcome)
    except (NotInstalled, NotPossibleHere) as error:
        outcome = msgspec.structs.replace(outcome, skipped=str(error))
    except Exception as error:  # noqa: BLE001 - one fault that goes wrong must not cost the table its others
        told = str(error) if isinstance(error, Overdue | ServerFailed) else f"{type(error).__name__}: {error}"
        problems = [*scene.problems, told, f"logs: {folder}"]
        outcome = msgspec.structs.replace(outcome, problems=problems, notes=scene.notes)
    return msgspec.structs.replace(outcome, seconds=time.monotonic() - started_at)


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    return folder


def _live(fault: Fault, scene: Scene) -> None:
    if fault.begins:
        scene.begin()
    fault.act(scene)
    scene.until_over()


def _judged(fault: Fault, scene: Scene, outcome: Outcome) -> Outcome:
    run, visits, rows = scene.run(), scene.site.visits(), scene.truth.rows(scene.run_id)
    loss = judge.compare(scene.layout, rows)
    problems = list(scene.problems)
    if run.state not in fault.ends:
        problems.append(f"the run is {run.state}: {run.reason}")
    problems += [f"doubled: {what}" for what in loss.doubled] + [f"strange: {what}" for what in loss.strange]
    if fault.has_all:
        problems += [f"lost: {what}" for what in loss.lost]
    extra = judge.extra_fetches(visits, rows) if len(scene.truth.runs()) == 1 else None
    if extra is not None and scene.allowed_extra is not None and extra > scene.allowed_extra:
        problems.append(f"{extra} extra fetches, {scene.allowed_extra} are allowed")
    problems += judge.hurried(visits, scene.setup.delay_s)
    outage = judge.outage(visits, scene.fault_at) if scene.fault_at else None
    if outage is not None and fault.max_outage_s is not None and outage > fault.max_outage_s:
        problems.append(f"nothing was fetched for {outage:.1f} s")
    problems += _late_writes(scene) + _checks(scene)
    return msgspec.structs.replace(
        outcome,
        lost=len(loss.lost) if fault.has_all else 0,
        doubled=len(loss.doubled),
        extra_fetches=extra,
        smallest_gap_s=judge.smallest_gap(visits),
        outage_s=outage,
        problems=problems + ([f"logs: {scene.folder}"] if problems else []),
        notes=scene.notes,
    )


def _late_writes(scene: Scene) -> list[str]:
    """Open rows of runs that are over: somebody wrote after the end."""
    left = scene.truth.number(
        "SELECT count(*) FROM url JOIN run ON run.id = url.run_id WHERE url.state = 'open'"
        " AND run.state IN ('completed', 'failed', 'cancelled')"
    )
    return [f"{left} rows are open in runs that are over"] if left else []


def _checks(scene: Scene) -> list[str]:
    """`fsck` and `audit verify`, as a user would call them."""
    asked = (("fsck", "--json"), ("audit", "verify", "--json"))
    with ThreadPoolExecutor(len(asked)) as threads:
        answers = list(threads.map(lambda words: _answered(scene, words), asked))
    problems = []
    for words, said in zip(asked, answers, strict=True):
        if said.code:
            problems.append(
                f"`{' '.join(words)}` ended with {said.code}: {(said.err or said.out).strip()[-300:]}"
            )
    return problems


def _answered(scene: Scene, words: tuple[str, ...]) -> Said:
    """What a command says, once the frontier serves again after the fault."""
    deadline = time.monotonic() + READY_S
    while True:
        said = scene.command(*words)
        if said.code != UNREACHABLE or time.monotonic() > deadline:
            return said


def chosen(faults: Sequence[Fault], names: Sequence[str], *, is_short: bool) -> list[Fault]:
    """The faults of these names, or those of the short form, or all but what only the short form has."""
    if names:
        return [fault for fault in faults if fault.name in names]
    return [fault for fault in faults if fault.is_short or not is_short]
