"""Derive the JSON Schema (2020-12) of a task's rows."""

from __future__ import annotations

from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.core.runs.plan import Plan
from smartspider.pipeline.column_shapes import ColumnShape
from smartspider.pipeline.columns import RuleShapes, row_table
from smartspider.pipeline.compile import FindStep

_TYPES: dict[ColumnKind, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "datetime": {
        "type": "string",
        "pattern": r"^\d{4}-\d{2}-\d{2}(T.+)?$",
        "description": "ISO 8601: a date, or a date and time.",
    },
}


def item_schema(plan: Plan, find: FindStep) -> dict[str, Any]:
    """Return the JSON Schema that every row of the task satisfies. Values may be null unless required."""
    inner = _Inside(plan, find)
    table = row_table(plan, find)
    pages = [page for page in plan.pages.values() if page.emits and page.fields]
    given = [name for name in table if all(name in page.fields for page in pages)]
    made = [name for name in table if all(name not in page.fields for page in pages)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": plan.name,
        "type": "object",
        "properties": {name: inner.column(name, shape) for name, shape in table.items()},
        "required": [*given, *(made if len(pages) == 1 else [])],
        "additionalProperties": False,
    }


class _Inside:
    """Schemas of nested lists and objects, which follow from the rules if no pipeline changes them."""

    def __init__(self, plan: Plan, find: FindStep) -> None:
        self._shapes = RuleShapes(plan, find)
        self._rules: dict[str, list[FieldRule]] = {}
        for page in plan.pages.values():
            for name, rule in page.fields.items() if page.emits else ():
                self._rules.setdefault(name, []).append(rule)
        self._is_touched = bool(plan.pipeline)

    def column(self, name: str, shape: ColumnShape) -> dict[str, Any]:
        """Return the schema of a column."""
        rules = self._rules.get(name, [])
        if shape.kind == "json" and len(rules) == 1 and not self._is_touched:
            return self._rule(rules[0])
        return _of_kind(shape)

    def _rule(self, rule: FieldRule) -> dict[str, Any]:
        match rule:
            case NestedRule(fields=fields):
                return self._object(fields)
            case ValueRule(fields=fields, many=many, steps=()) if fields:
                inner = self._object(fields)
                return {"type": ["array", "null"], "items": inner} if many else inner
            case ValueRule(steps=(), many=True, join=None, type="css" | "xpath" | "regex"):
                return {"type": ["array", "null"], "items": {"type": "string"}}
            case ValueRule() | FirstOf():
                return _of_kind(self._shapes.of(rule))

    def _object(self, fields: dict[str, FieldRule]) -> dict[str, Any]:
        properties = {name: self._rule(rule) for name, rule in fields.items()}
        return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _of_kind(shape: ColumnShape) -> dict[str, Any]:
    if shape.is_many:
        return {"type": ["array", "null"]}
    if shape.kind == "json":
        return {"not": {"type": "null"}} if shape.is_required else {}
    schema = dict(_TYPES[shape.kind])
    if not shape.is_required:
        schema["type"] = [schema["type"], "null"]
    return schema
