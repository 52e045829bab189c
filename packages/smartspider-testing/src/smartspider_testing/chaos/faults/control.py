"""Starting, ending and limiting runs while something dies."""

from __future__ import annotations

import time
from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.calling import call, until_serving
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import Overdue, until
from smartspider_testing.servers.ports import free_port

KILLED = -9
LIMIT = 75
IDLE_S = 3.0


def start_is_killed(scene: Scene) -> None:
    """Whoever starts a run dies at every place of it, then tries again."""
    scene.keep_task()
    scene.breaks()
    reached = []
    for place in (name for name in failpoints.WRITES if name != "task.versioned"):
        before = len(scene.truth.runs())
        said = scene.command("run", "start", "chaos", "--json", env={"SMARTSPIDER_DIE_AT": f"{place}:1"})
        if said.code == KILLED:
            reached.append(place)
        runs = scene.truth.runs()
        scene.check(len(runs) - before <= 1, f"{place}: {len(runs) - before} runs came of one start")
        if said.code == KILLED and len(runs) > before:
            scene.problems.append(f"{place}: a run is there that nobody was told of")
    scene.check(len(reached) > 0, "no place was come to")
    if not scene.truth.runs():
        scene.must("run", "start", "chaos", "--json")
    runs = scene.truth.runs()
    scene.run_id = runs[-1].id
    scene.check(len(runs) == 1, f"{len(runs)} runs instead of one")
    scene.notes.append(f"killed at {', '.join(reached)}")


def api_is_killed(scene: Scene) -> None:
    """The API dies at every place of starting a run; the client sends the same request with the same key."""
    scene.keep_task()
    scene.breaks()
    port, reached = free_port(), []
    places = ("answer.claimed", "run.created", "audit.added", "audit.headed", "answer.made")
    for number, place in enumerate(places):
        api = scene.hire("api", "--port", str(port), SMARTSPIDER_DIE_AT=f"{place}:1")
        key = f"start-{number}"
        until_serving(port)
        before = {run.id for run in scene.truth.runs()}
        if _post(port, key) is None:
            reached.append(place)
        api.kill()
        api = scene.hire("api", "--port", str(port))
        until_serving(port)
        answer, again = _post(port, key), _post(port, key)
        api.kill()
        made = [run.id for run in scene.truth.runs() if run.id not in before]
        scene.check(len(made) == 1, f"{place}: {len(made)} runs of one start")
        if not made:
            raise Overdue(scene.problems[-1])
        told = f"{place}: run {made[-1]} was started, and the same request gave {answer}, then {again}"
        scene.check(answer == again == str(made[-1]), told)
        scene.run_id = made[-1]
        if number < len(places) - 1 and not scene.is_over():
            scene.command("run", "cancel", str(scene.run_id))  # unless it ends by itself just now
    scene.check(len(reached) == len(places), f"only {', '.join(reached) or 'nothing'} was come to")
    scene.notes.append(f"killed at {', '.join(reached)}")


def _post(port: int, key: str) -> str | None:
    """Start a run over the API; its id, or None when no answer came."""
    answer = call(port, "/api/tasks/1/start", "POST", {"Idempotency-Key": key})
    if answer is None:
        return None
    status, body = answer
    return str(body["run_id"]) if status in (200, 202) else f"{status} {body}"


def start_without_keeper(scene: Scene) -> None:
    """The keeper dies before anything of a run was offered, and once more while it fills."""
    scene.leader().kill()
    scene.run_id = scene.begin()
    scene.breaks()
    idle_until = time.monotonic() + IDLE_S
    until(lambda: time.monotonic() > idle_until, "the run waits", 2 * IDLE_S)
    scene.check(not scene.is_over(), f"the run is {scene.run().state} without a page")
    stall = ("run", "stall", str(scene.run_id))
    until(lambda: "no keeper leads since" in scene.command(*stall).out.lower(), "`run stall` says why", 30.0)
    dying = scene.hire("keeper", SMARTSPIDER_DIE_AT="keeper.replay:1")
    until(lambda: not dying.is_running or scene.is_over(), "the keeper dies while it offers", 40.0)
    dying.kill()
    scene.keepers[:] = [scene.hire("keeper")]


def cancel(scene: Scene, *, is_deleted: bool) -> None:
    """A run is cancelled with leases out; another run on the same hosts must not wait for it."""
    scene.until_share(0.1)
    first = scene.run_id
    scene.breaks()
    scene.must("run", "cancel", str(first))
    if is_deleted:
        scene.must("run", "delete", str(first))
    stored = scene.run(first).done if not is_deleted else 0
    cancelled_at = time.monotonic()
    scene.run_id = scene.begin("second")
    scene.until_share(0.1, within_s=30.0)
    scene.notes.append(f"the next run had pages {time.monotonic() - cancelled_at:.1f} s later")
    if not is_deleted:
        line = scene.run(first)
        scene.check(line.state == "cancelled", f"the first run is {line.state}")
        scene.check(line.done == stored, f"{line.done - stored} pages came after the run was cancelled")


def limited(scene: Scene) -> None:
    """Many workers and a limit."""
    scene.breaks()
    scene.until_over()
    line = scene.run()
    scene.check(line.done == LIMIT, f"{line.done} pages instead of {LIMIT}")
    pages = {row.page for row in scene.truth.rows(scene.run_id)}
    scene.check(len(pages) == LIMIT, f"rows of {len(pages)} pages instead of {LIMIT}")


FAULTS = (
    Fault(
        name="start-killed",
        row="whoever starts a run is killed at every point of it",
        expected="exactly one run, all seeds in",
        act=start_is_killed,
        begins=False,
        setup=Setup(pages=80),
    ),
    Fault(
        name="start-api-killed",
        row="the API is killed at every point of starting a run; the client repeats with the same key",
        expected="exactly one run and the same answer, all seeds in",
        act=api_is_killed,
        begins=False,
        setup=Setup(pages=80),
    ),
    Fault(
        name="start-without-keeper",
        row="keeper killed while a run starts; run with 0 pushed seeds",
        expected="no false completion, all seeds in",
        act=start_without_keeper,
        begins=False,
        setup=Setup(pages=80),
    ),
    Fault(
        name="cancel",
        row="cancel a run with leases out, then another run on its hosts",
        expected="host not stuck, no zombie pages",
        act=partial(cancel, is_deleted=False),
        setup=Setup(pages=150, delay_s=0.4),
    ),
    Fault(
        name="delete",
        row="delete a run with leases out, then another run on its hosts",
        expected="host not stuck, no zombie pages",
        act=partial(cancel, is_deleted=True),
        setup=Setup(pages=150, delay_s=0.4),
    ),
    Fault(
        name="max-pages",
        row="max_pages with 8 workers",
        expected="exact",
        act=limited,
        setup=Setup(
            workers=8, slots=4, pages=300, delay_s=0.0, latency_s=0.05, task={"limits": {"max_pages": LIMIT}}
        ),
        is_short=True,
        has_all=False,
    ),
)
