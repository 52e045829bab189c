"""From page types to the rules a page is read by."""

from __future__ import annotations

from typing import Any

from smartspider.core import rules as core
from smartspider.taskfile.model import Task
from smartspider.taskfile.pages import Follow, NextLink, PageType
from smartspider.taskfile.rules import FieldRule, Rule, Step


def page_plans(task: Task) -> dict[str, core.PagePlan]:
    """Every page type of the task, `default` included, in task order."""
    return {name: _page_plan(name, page) for name, page in task.page_types.items()}


def _page_plan(name: str, page: PageType) -> core.PagePlan:
    items = page.selectors.items
    pagination = page.pagination
    return core.PagePlan(
        name=name,
        items=_rule(items) if isinstance(items, (str, Rule)) else None,
        fields={field: _field(rule) for field, rule in page.selectors.fields.items()},
        follow=tuple(_follow(follow, name) for follow in page.follow),
        pagination=_next_link(pagination) if isinstance(pagination, NextLink) else None,
    )


def _field(rule: FieldRule) -> core.FieldRule:
    if isinstance(rule, list):
        return core.FirstOf(tuple(_field(inner) for inner in rule))
    if isinstance(rule, dict):
        return core.Nested({name: _field(inner) for name, inner in rule.items()})
    return _rule(rule)


def _rule(rule: str | Rule) -> core.Rule:
    if isinstance(rule, str):
        return core.Rule("css", rule)
    return core.Rule(
        type=rule.type,
        expr=rule.expr,
        many=rule.many or rule.join is not None,
        default=rule.default,
        required=rule.required,
        attr=rule.attr,
        join=rule.join,
        is_raw=rule.text == "raw",
        steps=tuple(_step(step) for step in rule.steps),
    )


def _step(step: str | Step) -> dict[str, Any]:
    return {"use": step} if isinstance(step, str) else step.model_dump(exclude_defaults=True)


def _follow(follow: Follow, page: str) -> core.Follow:
    return core.Follow(
        rule=core.Rule(follow.type, follow.selector, many=True),
        to=follow.to or page,
        allow=tuple(follow.allow),
        deny=tuple(follow.deny),
        priority=follow.priority,
        max_depth=follow.max_depth,
    )


def _next_link(pagination: NextLink) -> core.NextLink:
    return core.NextLink(core.Rule("css", pagination.selector))
