"""Sitemaps as page types of our own and as first requests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from smartspider.core.pages.rules import ROBOTS_PAGE, SITEMAP_PAGE, PagePlan, SitemapPlan
from smartspider.core.requests.request import DEFAULT_PAGE, Request, make_request
from smartspider.core.requests.urls import CanonicalRules, normal_url, origin_of
from smartspider.taskfile.model import Sitemap, Task
from smartspider.taskfile.values import age_or_moment


def sitemap_plans(task: Task) -> dict[str, PagePlan]:
    """Page types for robots.txt and the sitemaps it names, or for each sitemap of the task."""
    if isinstance(task.sitemaps, bool):
        if not task.sitemaps:
            return {}
        anywhere = SitemapPlan(DEFAULT_PAGE, max_bytes=task.fetch.max_bytes)
        return {
            ROBOTS_PAGE: PagePlan(ROBOTS_PAGE, kind="robots"),
            SITEMAP_PAGE: PagePlan(SITEMAP_PAGE, kind="sitemap", sitemap=anywhere),
        }
    names = (f"{SITEMAP_PAGE}:{number}" for number in range(len(task.sitemaps)))
    return {
        name: PagePlan(name, kind="sitemap", sitemap=_plan(given, task))
        for name, given in zip(names, task.sitemaps, strict=True)
    }


def sitemap_requests(task: Task, entries: Iterable[Request], rules: CanonicalRules) -> Iterator[Request]:
    """The sitemaps a run begins with: those of the task, or robots.txt and `/sitemap.xml` of every origin."""
    if isinstance(task.sitemaps, bool):
        for origin in dict.fromkeys(origin_of(entry.url) for entry in entries) if task.sitemaps else ():
            yield make_request(f"{origin}/robots.txt", rules=rules, page=ROBOTS_PAGE)
            yield make_request(f"{origin}/sitemap.xml", rules=rules, page=SITEMAP_PAGE)
        return
    for number, given in enumerate(task.sitemaps):
        url = normal_url(given if isinstance(given, str) else given.url)
        if url is not None:
            yield make_request(url, rules=rules, page=f"{SITEMAP_PAGE}:{number}")


def _plan(given: str | Sitemap, task: Task) -> SitemapPlan:
    sitemap = Sitemap(url=given) if isinstance(given, str) else given
    age_s, moment = age_or_moment(sitemap.newer_than) if sitemap.newer_than else (None, None)
    return SitemapPlan(
        to=sitemap.page,
        allow=tuple(sitemap.allow),
        deny=tuple(sitemap.deny),
        newer_age_s=age_s,
        newer_moment=moment,
        max_bytes=task.fetch.max_bytes,
    )
