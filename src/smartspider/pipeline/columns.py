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
    compiler = StepCompiler(find)
    pages = [page for page in plan.pages.values() if page.emits and page.fields]
    table: ColumnTable = {}
    for page in pages:
        for name, rule in page.fields.items():
            shape = rule_shape(rule, compiler)
            table[name] = _either([table[name], shape]) if name in table else shape
    for name, shape in table.items():
        if any(name not in page.fields for page in pages):
            table[name] = shape._replace(is_required=False)
    return table


def rule_shape(rule: FieldRule, compiler: StepCompiler) -> ColumnShape:
    """Return the shape of the values of a rule after its steps."""
    match rule:
        case NestedRule():
            return ColumnShape("json")
        case FirstOf(rules=rules):
            return _either([rule_shape(inner, compiler) for inner in rules])
        case ValueRule():
            shape = _found_shape(rule)
            try:
                uses = compiler.compile_chain(rule.steps, "").uses
            except TaskInvalid:  # reported with its path when the rule itself is compiled
                return ColumnShape("json")
            for use in uses:
                shape = shape_after(shape, use.step, use.on_error)
            return _with_default(ColumnShape("text") if rule.join is not None else shape, rule)


def _with_default(shape: ColumnShape, rule: ValueRule) -> ColumnShape:
    """Apply `default` and `required`, which come after the steps."""
    if rule.default is not None and not shape.is_many:
        shape = shape._replace(kind=merge_kinds((shape.kind, infer_kind(rule.default))) or shape.kind)
    return shape._replace(is_required=rule.required)


def _found_shape(rule: ValueRule) -> ColumnShape:
    """Return the shape of extracted values, before any step."""
    if rule.many or rule.fields:
        return ColumnShape("json", is_many=rule.many and not rule.fields)
    kind: ColumnKind = "json"
    if rule.type in _TEXTS and (rule.type != "markdown" or rule.expr is None):
        kind = "text"
    elif rule.type == "meta":
        kind = _META.get(str(rule.expr), "json")
    elif rule.type == "const":
        kind = infer_kind(rule.expr)
    return ColumnShape(kind)


def _either(shapes: list[ColumnShape]) -> ColumnShape:
    is_many = all(shape.is_many for shape in shapes)
    kind = merge_kinds(shape.kind for shape in shapes) or "json"
    return ColumnShape(kind, is_many, all(shape.is_required for shape in shapes))
