"""Pages that are hard to store, and races about one page."""

from __future__ import annotations

import time

from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup

NUL_PAGES = ("7", "23", "41")


def untouched(cluster: ChaosCluster) -> None:
    """Inject nothing: the site itself is the fault."""
    cluster.mark_fault()


def retry_failed(cluster: ChaosCluster) -> None:
    """Bury pages after their attempts; repair the site and retry them."""
    failing = [str(page) for page in range(10, cluster.setup.pages, 9)]
    cluster.site.behave(failing=failing)
    cluster.run_id = cluster.start_run()
    cluster.mark_fault()
    cluster.wait_for_end()
    dead = cluster.get_run().dead
    cluster.check(dead > 0, "nothing was buried")
    cluster.site.behave(failing=[])
    cluster.checked_command("run", "retry", str(cluster.run_id))
    wait_until(lambda: not cluster.has_ended() or cluster.get_run().dead == 0, "the run is open again", 20.0)
    cluster.notes.append(f"{dead} buried, then retried")


def bury_races(cluster: ChaosCluster) -> None:
    """Freeze a worker with a fetched page until another worker has buried it; then let it settle."""
    cluster.run_id = cluster.start_run()
    cluster.wait_for_share(0.1)
    old = cluster.workers[0]
    old.kill()
    worker = cluster.replace_worker(old, SMARTSPIDER_FREEZE_AT="fetch.received:4")
    wait_until(worker.is_frozen, "a worker holds a fetched page", 30.0)
    cluster.mark_fault()
    held = _unstored(cluster)
    wait_until(lambda: _is_past(cluster, 2.0), "the others have stored what they had", 10.0)
    held &= _unstored(cluster)
    cluster.check(bool(held), "the frozen worker holds no fetched page")
    cluster.site.behave(failing=sorted(held))
    wait_until(lambda: _states(cluster, held) == {"dead"}, f"{sorted(held)} are buried", 40.0)
    worker.resume()
    wait_until(lambda: "done" in _states(cluster, held), "the success takes the place of the burial", 20.0)
    cluster.site.behave(failing=[])
    cluster.wait_for_end()
    cluster.notes.append(f"{len(held)} buried; then {', '.join(sorted(_states(cluster, held)))}")
    if cluster.get_run().dead:
        cluster.checked_command("run", "retry", str(cluster.run_id))
        wait_until(
            lambda: not cluster.has_ended() or cluster.get_run().dead == 0, "the run is open again", 20.0
        )


def _unstored(cluster: ChaosCluster) -> set[str]:
    """Return the pages that were fetched and are not stored."""
    stored = {row.page for row in cluster.store.rows(cluster.run_id)}
    return {visit.page for visit in cluster.site.visits() if visit.page} - stored


def _is_past(cluster: ChaosCluster, seconds: float) -> bool:
    return cluster.fault_at is not None and time.monotonic() > cluster.fault_at + seconds


def _states(cluster: ChaosCluster, pages: set[str]) -> set[str]:
    found = [
        cluster.store.state_of(
            cluster.run_id, f"http://{cluster.layout.host_of(page)}:{cluster.site.port}/p/{page}"
        )
        for page in pages
    ]
    return {one[0] if one else "unknown" for one in found}


FAULTS = (
    Fault(
        name="retry-failed",
        row="retry failed",
        expected="every page is stored once",
        inject=retry_failed,
        setup=ClusterSetup(pages=120, task={"retry": {"max_attempts": 2, "backoff_s": 0.1}}),
        starts_run=False,
    ),
    Fault(
        name="bury-races",
        row="a request is given up while another worker succeeds; retry failed requests",
        expected="the success is stored",
        inject=bury_races,
        setup=ClusterSetup(pages=500, delay_s=0.2, task={"retry": {"max_attempts": 1}}),
        starts_run=False,
    ),
    Fault(
        name="redirects",
        row="A1 and A2 redirect to B, which is also linked directly",
        expected="the items of B are stored once",
        inject=untouched,
        setup=ClusterSetup(pages=120, has_twins=True),
    ),
    Fault(
        name="nul-page",
        row="pages with NUL characters in a settle batch",
        expected="the other pages are stored; the affected pages are cleaned or failed with a reason",
        inject=untouched,
        setup=ClusterSetup(pages=120, with_nul=NUL_PAGES),
    ),
)
