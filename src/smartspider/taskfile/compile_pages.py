"""Compilation of page types and sitemaps to extraction rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from smartspider.core.pages import rules as core
from smartspider.core.pages.rules import ROBOTS_PAGE, SITEMAP_PAGE, PagePlan, SitemapPlan
from smartspider.core.requests.request import DEFAULT_PAGE, Request, make_request
from smartspider.core.requests.urls import CanonicalRules, normal_url, origin_of
from smartspider.taskfile.model.pages import (
    Cursor,
    Follow,
    HeaderLink,
    NextLink,
    Offset,
    OlderThan,
    PageParam,
    PageType,
    Pagination,
    RequestTemplate,
    Scroll,
)
from smartspider.taskfile.model.rules import FieldRule, Rule, Step
from smartspider.taskfile.model.task import Sitemap, Task
from smartspider.taskfile.model.values import age_or_moment


def page_plans(task: Task) -> dict[str, core.PagePlan]:
    """Return all page types of the task, `default` included, in task order."""
    return {name: _page_plan(name, page, task) for name, page in task.page_types.items()}


def _page_plan(name: str, page: PageType, task: Task) -> core.PagePlan:
    items = page.selectors.items
    alternatives = () if items is None else items if isinstance(items, list) else (items,)
    return core.PagePlan(
        name=name,
        items=tuple(_rule(rule) for rule in alternatives),
        fields={field: _field(rule) for field, rule in page.selectors.fields.items()},
        follow=tuple(_follow(follow, name, task) for follow in page.follow),
        pagination=_pagination(page.pagination),
        stop_when=_stop_when(page.pagination),
        emits=page.emit,
        obeys_nofollow=task.politeness.robots == "obey",
    )


def _field(rule: FieldRule) -> core.FieldRule:
    if isinstance(rule, list):
        return core.FirstOf(tuple(_field(inner) for inner in rule))
    if isinstance(rule, dict):
        return core.NestedRule({name: _field(inner) for name, inner in rule.items()})
    return _rule(rule)


def _rule(rule: str | Rule) -> core.ValueRule:
    if isinstance(rule, str):
        return core.ValueRule("css", rule)
    return core.ValueRule(
        type=rule.type,
        expr=rule.expr,
        many=rule.many or rule.join is not None,
        default=rule.default,
        required=rule.required,
        attr=rule.attr,
        join=rule.join,
        is_raw=rule.text == "raw",
        within=rule.within,
        fields={name: _field(inner) for name, inner in rule.fields.items()},
        steps=steps_of(rule.steps),
    )


def steps_of(steps: Iterable[str | Step]) -> tuple[dict[str, Any], ...]:
    """Return steps as plain values. Disabled steps stay, so that the others keep their numbers."""
    return tuple(
        {"use": step} if isinstance(step, str) else step.model_dump(exclude_defaults=True) for step in steps
    )


def _follow(follow: Follow, page: str, task: Task) -> core.FollowRule:
    to = follow.to or page
    method = task.link_method(to)
    template = follow.request or (None if method in (None, "GET") else RequestTemplate())
    return core.FollowRule(
        rule=core.ValueRule(follow.type, follow.selector, many=True),
        to=to,
        allow=tuple(follow.allow),
        deny=tuple(follow.deny),
        priority=follow.priority,
        max_depth=follow.max_depth,
        carry=tuple(follow.carry),
        request=None if template is None else _template(template, method, task),
    )


def _template(request: RequestTemplate, method: str | None, task: Task) -> core.FollowRequest:
    if request.body is not None and method in (None, "GET"):
        method = "POST"
    return core.FollowRequest(
        url=request.url,
        method=request.method or method or "GET",
        headers=tuple(request.headers.items()),
        body=request.body,
        variables=dict(task.variables),
    )


def _pagination(pagination: Pagination | None) -> core.Pagination | None:
    match pagination:
        case NextLink(selector=selector, language=language):
            return core.NextLinkPagination(core.ValueRule(language, selector))
        case PageParam(param=param, start=start, step=step, stop=stop):
            return core.PageParamPagination(param, start, step, stop)
        case Offset(param=param, size=size, limit_param=limit_param, stop=stop):
            return core.OffsetPagination(param, size, limit_param, stop)
        case Cursor(expr=expr, param=param, into=into):
            return core.CursorPagination(expr, param, into)
        case HeaderLink():
            return core.HeaderLinkPagination()
        case Scroll() | None:
            return None  # scrolling needs a browser: `capabilities` rejects it
        case _:
            assert_never(pagination)


def _stop_when(pagination: Pagination | None) -> core.StopConditions:
    if pagination is None:
        return core.StopConditions()
    section = pagination.stop_when
    return core.StopConditions(
        section.empty, section.seen, None if section.older_than is None else _cutoff(section.older_than)
    )


def _cutoff(section: OlderThan) -> core.DateCutoff:
    age_s, moment = age_or_moment(section.than)
    return core.DateCutoff(section.field, age_s, moment)


def sitemap_plans(task: Task) -> dict[str, PagePlan]:
    """Return page types for robots.txt and its sitemaps, or one for each sitemap of the task."""
    if isinstance(task.sitemaps, bool):
        if not task.sitemaps:
            return {}
        default_plan = SitemapPlan(
            DEFAULT_PAGE,
            max_bytes=task.fetch.max_bytes,
            method=task.link_method(DEFAULT_PAGE) or "GET",
        )
        return {
            ROBOTS_PAGE: PagePlan(ROBOTS_PAGE, kind="robots"),
            SITEMAP_PAGE: PagePlan(SITEMAP_PAGE, kind="sitemap", sitemap=default_plan),
        }
    names = (f"{SITEMAP_PAGE}:{number}" for number in range(len(task.sitemaps)))
    return {
        name: PagePlan(name, kind="sitemap", sitemap=_plan(given, task))
        for name, given in zip(names, task.sitemaps, strict=True)
    }


def sitemap_requests(task: Task, entries: Iterable[Request], rules: CanonicalRules) -> Iterator[Request]:
    """Yield the first sitemaps: those of the task, or robots.txt and `/sitemap.xml` of every origin."""
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
        method=task.link_method(sitemap.page) or "GET",
    )
