"""Run faults one after the other, each on a cluster of its own."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import msgspec

from smartspider_testing.chaos import evaluation
from smartspider_testing.chaos.cluster import READY_S, ChaosCluster, CommandResult
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import WaitTimeout
from smartspider_testing.chaos.report import FaultResult
from smartspider_testing.servers import NotInstalled, NotPossibleHere, ServerFailed

UNREACHABLE = 5
"""Exit code of a command that finds the store or the frontier unavailable."""


class ScaleOverrides(msgspec.Struct, frozen=True):
    """Numbers that replace those of the faults; None keeps a fault's own."""

    pages: int | None = None
    workers: int | None = None


def run_faults(
    faults: Iterable[Fault],
    size: ScaleOverrides,
    kept: Path | None = None,
    on_result: Callable[[FaultResult], None] = lambda _result: None,
) -> list[FaultResult]:
    """Run the faults in order. Keep their files below `kept`, or only those of failed faults without it."""
    root = kept or Path(tempfile.mkdtemp(prefix="smartspider-chaos-"))
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)  # PostgreSQL runs as another user
    results = []
    for fault in faults:
        result = run_fault(fault, root, size)
        if kept is None and not result.problems:
            shutil.rmtree(root / fault.name, ignore_errors=True)
        on_result(result)
        results.append(result)
    if kept is None and not any(result.problems for result in results):
        shutil.rmtree(root, ignore_errors=True)
    return results


def run_fault(fault: Fault, root: Path, size: ScaleOverrides) -> FaultResult:
    """Run one fault on an empty cluster and evaluate it; errors become problems of the result."""
    started_at = time.monotonic()
    folder = _make_folder(root / fault.name)
    setup = replace(
        fault.setup,
        pages=size.pages or fault.setup.pages,
        workers=size.workers or fault.setup.workers,
    )
    result = FaultResult(fault.name, fault.row, fault.expected, delay_s=setup.delay_s)
    cluster = ChaosCluster(folder, setup, root / "initialised")
    try:
        with cluster:
            _run(fault, cluster)
            result = _evaluate(fault, cluster, result)
    except (NotInstalled, NotPossibleHere) as error:
        result = msgspec.structs.replace(result, skipped=str(error))
    except Exception as error:  # noqa: BLE001 - one fault that goes wrong must not cost the table its others
        told = (
            str(error)
            if isinstance(error, WaitTimeout | ServerFailed)
            else f"{type(error).__name__}: {error}"
        )
        problems = [*cluster.problems, told, f"logs: {folder}"]
        result = msgspec.structs.replace(result, problems=problems, notes=cluster.notes)
    return msgspec.structs.replace(result, seconds=time.monotonic() - started_at)


def _make_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    return folder


def _run(fault: Fault, cluster: ChaosCluster) -> None:
    if fault.starts_run:
        cluster.start_run()
    fault.inject(cluster)
    cluster.wait_for_end()


def _evaluate(fault: Fault, cluster: ChaosCluster, result: FaultResult) -> FaultResult:
    run, visits, rows = cluster.get_run(), cluster.site.visits(), cluster.store.rows(cluster.run_id)
    loss = evaluation.compare(cluster.layout, rows)
    problems = list(cluster.problems)
    if run.state not in fault.end_states:
        problems.append(f"the run is {run.state}: {run.reason}")
    problems += [f"doubled: {what}" for what in loss.doubled] + [f"strange: {what}" for what in loss.strange]
    if fault.expects_all_pages:
        problems += [f"lost: {what}" for what in loss.lost]
    extra = evaluation.extra_fetches(visits, rows) if len(cluster.store.runs()) == 1 else None
    if extra is not None and cluster.allowed_extra is not None and extra > cluster.allowed_extra:
        problems.append(f"{extra} extra fetches, {cluster.allowed_extra} are allowed")
    problems += evaluation.early_requests(visits, cluster.setup.delay_s)
    outage = evaluation.longest_silence(visits, cluster.fault_at) if cluster.fault_at else None
    if outage is not None and fault.max_outage_s is not None and outage > fault.max_outage_s:
        problems.append(f"nothing was fetched for {outage:.1f} s")
    problems += _find_late_writes(cluster) + _run_checks(cluster)
    return msgspec.structs.replace(
        result,
        lost=len(loss.lost) if fault.expects_all_pages else 0,
        doubled=len(loss.doubled),
        extra_fetches=extra,
        smallest_gap_s=evaluation.smallest_gap(visits),
        outage_s=outage,
        problems=problems + ([f"logs: {cluster.folder}"] if problems else []),
        notes=cluster.notes,
    )


def _find_late_writes(cluster: ChaosCluster) -> list[str]:
    """Return open rows of ended runs, which were written after the end."""
    left = cluster.store.query_number(
        "SELECT count(*) FROM url JOIN run ON run.id = url.run_id WHERE url.state = 'open'"
        " AND run.state IN ('completed', 'failed', 'cancelled')"
    )
    return [f"{left} requests are open in ended runs"] if left else []


def _run_checks(cluster: ChaosCluster) -> list[str]:
    """Run `fsck` and `audit verify` as a user would."""
    asked = (("fsck", "--json"), ("audit", "verify", "--json"))
    with ThreadPoolExecutor(len(asked)) as threads:
        answers = list(threads.map(lambda words: _run_when_serving(cluster, words), asked))
    problems = []
    for words, answer in zip(asked, answers, strict=True):
        if answer.code:
            problems.append(
                f"`{' '.join(words)}` ended with {answer.code}: {(answer.err or answer.out).strip()[-300:]}"
            )
    return problems


def _run_when_serving(cluster: ChaosCluster, words: tuple[str, ...]) -> CommandResult:
    """Return the result of a command once the frontier serves again."""
    deadline = time.monotonic() + READY_S
    while True:
        answer = cluster.run_command(*words)
        if answer.code != UNREACHABLE or time.monotonic() > deadline:
            return answer


def select_faults(faults: Sequence[Fault], names: Sequence[str], *, is_short: bool) -> list[Fault]:
    """Return the faults with these names, those of the short run, or all."""
    if names:
        return [fault for fault in faults if fault.name in names]
    return [fault for fault in faults if fault.is_short or not is_short]
