"""Derive the columns of a task's rows from its rules and steps."""

from __future__ import annotations

from smartspider.core.errors import TaskInvalid
from smartspider.core.items.columns import ColumnKind, TableColumn, infer_kind, merge_kinds
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.core.runs.plan import Plan
from smartspider.pipeline.column_shapes import ColumnShape, ColumnTable, shape_after, table_columns
from smartspider.pipeline.compile import FindStep, StepCompiler

_META: dict[str, ColumnKind] = {
    "url": "text",
    "final_url": "text",
    "parent": "text",
    "page": "text",
    "status": "integer",
    "depth": "integer",
    "fetched_at": "datetime",
}
_TEXTS = frozenset({"css", "xpath", "regex", "markdown"})


def row_columns(plan: Plan, find: FindStep) -> tuple[TableColumn, ...]:
    """Return the columns after all steps, in task order, of all page types that emit rows."""
    return table_columns(row_table(plan, find))


def rule_columns(plan: Plan, find: FindStep) -> tuple[TableColumn, ...]:
    """Return the columns before the pipeline, after the rules and their steps."""
    return table_columns(rule_table(plan, find))


def row_table(plan: Plan, find: FindStep) -> ColumnTable:
    """Return the shape of each column after all steps."""
    return StepCompiler(find).bind(plan.pipeline, rule_table(plan, find))[1]


def rule_table(plan: Plan, find: FindStep) -> ColumnTable:
    """Return the shape of each column before the pipeline, merged over page types."""
    shapes = RuleShapes(plan, find)
    pages = [page for page in plan.pages.values() if page.emits and page.fields]
    table: ColumnTable = {}
    for page in pages:
        for name, rule in page.fields.items():
            shape = shapes.of(rule)
            table[name] = _either([table[name], shape]) if name in table else shape
    for name, shape in table.items():
        if any(name not in page.fields for page in pages):
            table[name] = shape._replace(is_required=False)
    return table


class RuleShapes:
    """The shapes of the values of rules after their steps. A carried field has the shape it had on the page
    that carries it.
    """

    def __init__(self, plan: Plan, find: FindStep) -> None:
        self._compiler = StepCompiler(find)
        self._carried: dict[str, list[FieldRule | None]] = {}
        """The rules of the fields that links carry; None for values that have no rule."""
        for page in plan.pages.values():
            for name in {name for follow in page.follow for name in follow.carry}:
                self._carried.setdefault(name, []).append(page.fields.get(name))
        for entry in plan.entries:
            for name in entry.extras.meta:
                self._carried.setdefault(name, []).append(None)

    def of(self, rule: FieldRule) -> ColumnShape:
        """Return the shape of a rule."""
        match rule:
            case NestedRule():
                return ColumnShape("json")
            case FirstOf(rules=rules):
                return _either([self.of(inner) for inner in rules])
            case ValueRule():
                shape = self._found(rule)
                try:
                    uses = self._compiler.compile_chain(rule.steps, "").uses
                except TaskInvalid:  # reported with its path when the rule itself is compiled
                    return ColumnShape("json")
                for use in uses:
                    shape = shape_after(shape, use.step, use.on_error)
                return _with_default(ColumnShape("text") if rule.join is not None else shape, rule)

    def _found(self, rule: ValueRule) -> ColumnShape:
        """Return the shape of extracted values, before any step."""
        if rule.many or rule.fields:
            return ColumnShape("json", is_many=rule.many and not rule.fields)
        kind: ColumnKind = "json"
        if rule.type in _TEXTS and (rule.type != "markdown" or rule.expr is None):
            kind = "text"
        elif rule.type == "meta":
            name = str(rule.expr)
            return ColumnShape(_META[name]) if name in _META else self._of_carried(name)
        elif rule.type == "const":
            kind = infer_kind(rule.expr)
        return ColumnShape(kind)

    def _of_carried(self, name: str) -> ColumnShape:
        """Return the shape of a carried field on the pages that found it."""
        rules = self._carried.pop(name, [None])  # a field that is carried in a circle has no shape of its own
        try:
            found = [rule for rule in rules if not (isinstance(rule, ValueRule) and _passes_on(rule, name))]
            shapes = [ColumnShape("json") if rule is None else self.of(rule) for rule in found]
        finally:
            self._carried[name] = rules
        return _either(shapes)._replace(is_required=False) if shapes else ColumnShape("json")


def _passes_on(rule: ValueRule, name: str) -> bool:
    """Return True for a rule that only carries a field further."""
    return rule.type == "meta" and rule.expr == name and not rule.steps


def _with_default(shape: ColumnShape, rule: ValueRule) -> ColumnShape:
    """Apply `default` and `required`, which come after the steps."""
    if rule.default is not None and not shape.is_many:
        shape = shape._replace(kind=merge_kinds((shape.kind, infer_kind(rule.default))) or shape.kind)
    return shape._replace(is_required=rule.required)


def _either(shapes: list[ColumnShape]) -> ColumnShape:
    is_many = all(shape.is_many for shape in shapes)
    kind = merge_kinds(shape.kind for shape in shapes) or "json"
    return ColumnShape(kind, is_many, all(shape.is_required for shape in shapes))
