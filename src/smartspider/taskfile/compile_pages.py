"""From page types to the rules a page is read by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from smartspider.core.pages import rules as core
from smartspider.taskfile.model import Task
from smartspider.taskfile.pages import (
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
from smartspider.taskfile.rules import FieldRule, Rule, Step
from smartspider.taskfile.values import age_or_moment


def page_plans(task: Task) -> dict[str, core.PagePlan]:
    """Every page type of the task, `default` included, in task order."""
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
    """Steps as plain values. Those that are switched off stay, so that the others keep their numbers."""
    return tuple(
        {"use": step} if isinstance(step, str) else step.model_dump(exclude_defaults=True) for step in steps
    )


def _follow(follow: Follow, page: str, task: Task) -> core.FollowRule:
    return core.FollowRule(
        rule=core.ValueRule(follow.type, follow.selector, many=True),
        to=follow.to or page,
        allow=tuple(follow.allow),
        deny=tuple(follow.deny),
        priority=follow.priority,
        max_depth=follow.max_depth,
        carry=tuple(follow.carry),
        request=None if follow.request is None else _template(follow.request, task),
    )


def _template(request: RequestTemplate, task: Task) -> core.FollowRequest:
    return core.FollowRequest(
        url=request.url,
        method=request.method or ("GET" if request.body is None else "POST"),
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
            return None  # scrolling needs a browser: `capabilities` refuses it
        case _:
            assert_never(pagination)


def _stop_when(pagination: Pagination | None) -> core.StopConditions:
    if pagination is None:
        return core.StopConditions()
    asked = pagination.stop_when
    return core.StopConditions(
        asked.empty, asked.seen, None if asked.older_than is None else _older(asked.older_than)
    )


def _older(asked: OlderThan) -> core.DateCutoff:
    age_s, moment = age_or_moment(asked.than)
    return core.DateCutoff(asked.field, age_s, moment)
