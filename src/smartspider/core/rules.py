"""What to take from a page: the compiled form of `selectors`, `follow` and `pagination`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

RuleType = Literal["css", "xpath", "jmespath", "regex", "const", "meta"]


class Rule(msgspec.Struct, frozen=True):
    """One value: where it is and how it is read."""

    type: RuleType
    expr: Any
    many: bool = False
    default: Any = None
    required: bool = False
    attr: str | None = None
    join: str | None = None
    is_raw: bool = False
    steps: tuple[dict[str, Any], ...] = ()


class FirstOf(msgspec.Struct, frozen=True):
    """Alternatives: the first rule that matches gives the value."""

    rules: tuple[FieldRule, ...]


class Nested(msgspec.Struct, frozen=True):
    """An object of rules: a nested item."""

    fields: dict[str, FieldRule]


FieldRule = Rule | FirstOf | Nested


class Follow(msgspec.Struct, frozen=True):
    """Links to go on with."""

    rule: Rule
    to: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    priority: int = 0
    max_depth: int | None = None


class NextLink(msgspec.Struct, frozen=True):
    """Pagination by the link that a selector finds, until none."""

    rule: Rule


class PagePlan(msgspec.Struct, frozen=True):
    """A page type: which items it has, what to follow from it, how its pages go on."""

    name: str
    items: Rule | None = None
    fields: dict[str, FieldRule] = {}
    follow: tuple[Follow, ...] = ()
    pagination: NextLink | None = None
