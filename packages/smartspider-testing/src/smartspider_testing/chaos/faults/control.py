"""Crashes while runs are started, cancelled and limited."""

from __future__ import annotations

import time
from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.api import call_api, wait_until_serving
from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import WaitTimeout, wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers.ports import free_port

KILLED = -9
LIMIT = 75
IDLE_S = 3.0


def start_is_killed(cluster: ChaosCluster) -> None:
    """Kill the command that starts a run at every fail point, then start again."""
    cluster.apply_task()
    cluster.mark_fault()
    reached = []
    for place in (name for name in failpoints.TASKS if name != "task.versioned"):
        before = len(cluster.store.runs())
        answer = cluster.run_command(
            "run", "start", "chaos", "--json", env={"SMARTSPIDER_DIE_AT": f"{place}:1"}
        )
        if answer.code == KILLED:
            reached.append(place)
        runs = cluster.store.runs()
        cluster.check(len(runs) - before <= 1, f"{place}: one start created {len(runs) - before} runs")
        if answer.code == KILLED and len(runs) > before:
            cluster.problems.append(f"{place}: a run exists that was never reported to the client")
    cluster.check(len(reached) > 0, "no fail point was reached")
    if not cluster.store.runs():
        cluster.checked_command("run", "start", "chaos", "--json")
    runs = cluster.store.runs()
    cluster.run_id = runs[-1].id
    cluster.check(len(runs) == 1, f"{len(runs)} runs instead of one")
    cluster.notes.append(f"killed at {', '.join(reached)}")


def api_is_killed(cluster: ChaosCluster) -> None:
    """Kill the API at every fail point of starting a run; repeat it with the same idempotency key."""
    cluster.apply_task()
    cluster.mark_fault()
    port, reached = free_port(), []
    places = ("answer.claimed", "run.created", "audit.added", "audit.headed", "answer.made")
    for number, place in enumerate(places):
        api = cluster.start_process("api", "--port", str(port), SMARTSPIDER_DIE_AT=f"{place}:1")
        key = f"start-{number}"
        wait_until_serving(port)
        before = {run.id for run in cluster.store.runs()}
        if _post(port, key) is None:
            reached.append(place)
        api.kill()
        api = cluster.start_process("api", "--port", str(port))
        wait_until_serving(port)
        answer, again = _post(port, key), _post(port, key)
        api.kill()
        made = [run.id for run in cluster.store.runs() if run.id not in before]
        cluster.check(len(made) == 1, f"{place}: {len(made)} runs of one start")
        if not made:
            raise WaitTimeout(cluster.problems[-1])
        told = f"{place}: run {made[-1]} was started, and the same request gave {answer}, then {again}"
        cluster.check(answer == again == str(made[-1]), told)
        cluster.run_id = made[-1]
        if number < len(places) - 1 and not cluster.has_ended():
            cluster.run_command("run", "cancel", str(cluster.run_id))  # fails if the run has just ended
    cluster.check(len(reached) == len(places), f"only {', '.join(reached) or 'nothing'} was come to")
    cluster.notes.append(f"killed at {', '.join(reached)}")


def _post(port: int, key: str) -> str | None:
    """Start a run through the API. Return its id, or None without a response."""
    answer = call_api(port, "/api/tasks/1/start", "POST", {"Idempotency-Key": key})
    if answer is None:
        return None
    status, body = answer
    return str(body["run_id"]) if status in (200, 202) else f"{status} {body}"


def start_without_keeper(cluster: ChaosCluster) -> None:
    """Kill the keeper before anything of a run is offered, and again while it fills Redis."""
    cluster.leader().kill()
    cluster.run_id = cluster.start_run()
    cluster.mark_fault()
    idle_until = time.monotonic() + IDLE_S
    wait_until(lambda: time.monotonic() > idle_until, "the run waits", 2 * IDLE_S)
    cluster.check(not cluster.has_ended(), f"the run is {cluster.get_run().state} without a page")
    stall = ("run", "stall", str(cluster.run_id))
    wait_until(
        lambda: "no keeper leads since" in cluster.run_command(*stall).out.lower(),
        "`run stall` says why",
        30.0,
    )
    dying = cluster.start_process("keeper", SMARTSPIDER_DIE_AT="keeper.replay:1")
    wait_until(lambda: not dying.is_running or cluster.has_ended(), "the keeper dies while it offers", 40.0)
    dying.kill()
    cluster.keepers[:] = [cluster.start_process("keeper")]


def cancel(cluster: ChaosCluster, *, is_deleted: bool) -> None:
    """Cancel a run with leases in flight; another run on the same hosts must not wait for it."""
    cluster.wait_for_share(0.1)
    first = cluster.run_id
    cluster.mark_fault()
    cluster.checked_command("run", "cancel", str(first))
    if is_deleted:
        cluster.checked_command("run", "delete", str(first))
    stored = cluster.get_run(first).done if not is_deleted else 0
    cancelled_at = time.monotonic()
    cluster.run_id = cluster.start_run("second")
    cluster.wait_for_share(0.1, within_s=30.0)
    cluster.notes.append(f"the next run had pages {time.monotonic() - cancelled_at:.1f} s later")
    if not is_deleted:
        line = cluster.get_run(first)
        cluster.check(line.state == "cancelled", f"the first run is {line.state}")
        cluster.check(line.done == stored, f"{line.done - stored} pages came after the run was cancelled")


def limited(cluster: ChaosCluster) -> None:
    """Crawl with many workers and a page limit."""
    cluster.mark_fault()
    cluster.wait_for_end()
    line = cluster.get_run()
    cluster.check(line.done == LIMIT, f"{line.done} pages instead of {LIMIT}")
    pages = {row.page for row in cluster.store.rows(cluster.run_id)}
    cluster.check(len(pages) == LIMIT, f"rows of {len(pages)} pages instead of {LIMIT}")


FAULTS = (
    Fault(
        name="start-killed",
        row="the process that starts a run is killed at each step",
        expected="exactly one run, all entry URLs stored",
        inject=start_is_killed,
        starts_run=False,
        setup=ClusterSetup(pages=80),
    ),
    Fault(
        name="start-api-killed",
        row="the API is killed at every point of starting a run; the client repeats with the same key",
        expected="exactly one run and the same response, all entry URLs stored",
        inject=api_is_killed,
        starts_run=False,
        setup=ClusterSetup(pages=80),
    ),
    Fault(
        name="start-without-keeper",
        row="keeper killed while a run starts, before any entry URL is queued",
        expected="no premature completion, all entry URLs stored",
        inject=start_without_keeper,
        starts_run=False,
        setup=ClusterSetup(pages=80),
    ),
    Fault(
        name="cancel",
        row="cancel a run with leased requests, then start another run on its hosts",
        expected="host not stuck, no zombie pages",
        inject=partial(cancel, is_deleted=False),
        setup=ClusterSetup(pages=150, delay_s=0.4),
    ),
    Fault(
        name="delete",
        row="delete a run with leased requests, then start another run on its hosts",
        expected="host not stuck, no zombie pages",
        inject=partial(cancel, is_deleted=True),
        setup=ClusterSetup(pages=150, delay_s=0.4),
    ),
    Fault(
        name="max-pages",
        row="max_pages with 8 workers",
        expected="exact",
        inject=limited,
        setup=ClusterSetup(
            workers=8, slots=4, pages=300, delay_s=0.0, latency_s=0.05, task={"limits": {"max_pages": LIMIT}}
        ),
        is_short=True,
        expects_all_pages=False,
    ),
)
