"""Explaining a URL from a data folder."""

from __future__ import annotations

from smartspider.core.urls import normal_url, origin_of
from smartspider.fetch.robots_file import RobotsFile
from smartspider.services.explain import Explanation, explain
from smartspider.services.runs import find_run
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.plans import plan_of


async def explain_url(folder: DataFolder, url: str, run_id: int | None) -> Explanation:
    """Why a URL was or was not fetched, in the run given or the newest one."""
    run = await find_run(folder.store, run_id)
    plan = plan_of(run)
    line = await _forbidding_line(folder, url) if plan.politeness.obey_robots else None
    return await explain(folder.store, run, plan, url, line)


async def _forbidding_line(folder: DataFolder, url: str) -> str | None:
    """The line of the stored robots.txt that forbids a URL."""
    normal = normal_url(url)
    answer = await folder.store.get_robots(origin_of(normal)) if normal else None
    if normal is None or answer is None or answer.body is None:
        return None
    file = RobotsFile(answer.body)
    return None if file.allows(normal) else file.deciding_line(normal)
