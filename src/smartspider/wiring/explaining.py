"""Explaining a URL from an installation."""

from __future__ import annotations

from smartspider.core.urls import normal_url, origin_of
from smartspider.fetch.robots_file import RobotsFile
from smartspider.services.explain import explain
from smartspider.services.newest import START, find_run
from smartspider.views.explain import ExplanationView, RobotsView
from smartspider.views.times import told_at
from smartspider.wiring.plans import plan_of
from smartspider.wiring.premises import Premises


async def explain_url(
    premises: Premises, url: str, run_id: int | None, *, hint: str = START
) -> ExplanationView:
    """Why a URL was or was not fetched, in the run given or the newest one."""
    run = await find_run(premises.store, run_id, hint=hint)
    plan = plan_of(run)
    robots = await _robots(premises, url, is_obeyed=plan.politeness.obey_robots)
    return await explain(premises.insight, run, plan, url, robots)


async def _robots(premises: Premises, url: str, *, is_obeyed: bool) -> RobotsView:
    """What the stored robots.txt says about a URL."""
    normal = normal_url(url)
    answer = await premises.store.get_robots(origin_of(normal)) if normal else None
    if normal is None or answer is None:
        return RobotsView(is_obeyed, is_allowed=None, line=None, status=None, fetched_at=None)
    fetched_at = told_at(answer.fetched_at)
    if answer.body is None:  # a server without one allows everything
        return RobotsView(is_obeyed, is_allowed=True, line=None, status=answer.status, fetched_at=fetched_at)
    file = RobotsFile(answer.body)
    line = file.deciding_line(normal)
    return RobotsView(is_obeyed, file.allows(normal), line, answer.status, fetched_at)
