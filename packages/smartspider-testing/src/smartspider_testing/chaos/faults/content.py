"""Pages that are troublesome in themselves, and races about one page."""

from __future__ import annotations

import time

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import until

NUL_PAGES = ("7", "23", "41")


def untouched(scene: Scene) -> None:
    """Nothing is broken: the site itself is the fault."""
    scene.breaks()


def retry_failed(scene: Scene) -> None:
    """Pages are buried after their attempts; then the site is well and they are retried."""
    failing = [str(page) for page in range(10, scene.setup.pages, 9)]
    scene.site.behave(failing=failing)
    scene.run_id = scene.begin()
    scene.breaks()
    scene.until_over()
    dead = scene.run().dead
    scene.check(dead > 0, "nothing was buried")
    scene.site.behave(failing=[])
    scene.must("run", "retry", str(scene.run_id))
    until(lambda: not scene.is_over() or scene.run().dead == 0, "the run is open again", 20.0)
    scene.notes.append(f"{dead} buried, then retried")


def bury_races(scene: Scene) -> None:
    """A worker with a good page is frozen until another has buried that page; then it brings the success."""
    scene.run_id = scene.begin()
    scene.until_share(0.1)
    old = scene.workers[0]
    old.kill()
    worker = scene.replace(old, SMARTSPIDER_FREEZE_AT="fetch.received:4")
    until(worker.is_frozen, "a worker holds a fetched page", 30.0)
    scene.breaks()
    held = _unstored(scene)
    until(lambda: _is_past(scene, 2.0), "the others have stored what they had", 10.0)
    held &= _unstored(scene)
    scene.check(bool(held), "the frozen worker holds no fetched page")
    scene.site.behave(failing=sorted(held))
    until(lambda: _states(scene, held) == {"dead"}, f"{sorted(held)} are buried", 40.0)
    worker.thaw()
    until(lambda: "done" in _states(scene, held), "the success takes the place of the burial", 20.0)
    scene.site.behave(failing=[])
    scene.until_over()
    scene.notes.append(f"{len(held)} buried; then {', '.join(sorted(_states(scene, held)))}")
    if scene.run().dead:
        scene.must("run", "retry", str(scene.run_id))
        until(lambda: not scene.is_over() or scene.run().dead == 0, "the run is open again", 20.0)


def _unstored(scene: Scene) -> set[str]:
    """Pages that were fetched and are not in the store."""
    stored = {row.page for row in scene.truth.rows(scene.run_id)}
    return {visit.page for visit in scene.site.visits() if visit.page} - stored


def _is_past(scene: Scene, seconds: float) -> bool:
    return scene.fault_at is not None and time.monotonic() > scene.fault_at + seconds


def _states(scene: Scene, pages: set[str]) -> set[str]:
    found = [
        scene.truth.state_of(scene.run_id, f"http://{scene.layout.host_of(page)}:{scene.site.port}/p/{page}")
        for page in pages
    ]
    return {one[0] if one else "unknown" for one in found}


FAULTS = (
    Fault(
        name="retry-failed",
        row="retry failed",
        expected="every page is stored once",
        act=retry_failed,
        setup=Setup(pages=120, task={"retry": {"max_attempts": 2, "backoff_s": 0.1}}),
        begins=False,
    ),
    Fault(
        name="bury-races",
        row="bury races success; retry failed",
        expected="the success is stored",
        act=bury_races,
        setup=Setup(pages=500, delay_s=0.2, task={"retry": {"max_attempts": 1}}),
        begins=False,
    ),
    Fault(
        name="redirects",
        row="redirects A1, A2 to B with B also linked",
        expected="B's items once",
        act=untouched,
        setup=Setup(pages=120, has_twins=True),
    ),
    Fault(
        name="nul-page",
        row="pages with NUL in a group",
        expected="the rest is stored, the culprits are cleaned or buried with a reason",
        act=untouched,
        setup=Setup(pages=120, with_nul=NUL_PAGES),
    ),
)
