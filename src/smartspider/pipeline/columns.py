"""The columns of a task's rows: from its rules, through their steps and the pipeline."""

from __future__ import annotations

from smartspider.core.errors import TaskInvalid
from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.core.runs.plan import Plan
from smartspider.pipeline.compile import Find, StepCompiler
from smartspider.pipeline.kinds import merged, natural_kind
from smartspider.pipeline.table import Shape, Table, columns_in, shape_after

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


def columns_of(plan: Plan, find: Find) -> tuple[TableColumn, ...]:
    """The columns of the rows after all steps, in task order, of all page types whose items are rows."""
    return columns_in(row_table(plan, find))


def rule_columns(plan: Plan, find: Find) -> tuple[TableColumn, ...]:
    """The columns as the rules and their steps leave them: what the pipeline is given."""
    return columns_in(rule_table(plan, find))


def row_table(plan: Plan, find: Find) -> Table:
    """What is known about each column after all steps."""
    return StepCompiler(find).acts(plan.pipeline, rule_table(plan, find))[1]


def rule_table(plan: Plan, find: Find) -> Table:
    """What is known about each column before the pipeline; a field of several page types is all it may be."""
    compiler = StepCompiler(find)
    pages = [page for page in plan.pages.values() if page.emits and page.fields]
    table: Table = {}
    for page in pages:
        for name, rule in page.fields.items():
            shape = rule_shape(rule, compiler)
            table[name] = _either([table[name], shape]) if name in table else shape
    for name, shape in table.items():
        if any(name not in page.fields for page in pages):
            table[name] = shape._replace(is_required=False)
    return table


def rule_shape(rule: FieldRule, compiler: StepCompiler) -> Shape:
    """What a rule and its steps make."""
    match rule:
        case NestedRule():
            return Shape("json")
        case FirstOf(rules=rules):
            return _either([rule_shape(inner, compiler) for inner in rules])
        case ValueRule():
            shape = _found_shape(rule)
            try:
                uses = compiler.rule_steps(rule.steps, "").uses
            except TaskInvalid:  # said with its path where the rule itself is compiled
                return Shape("json")
            for use in uses:
                shape = shape_after(shape, use.step, use.on_error)
            return _with_default(Shape("text") if rule.join is not None else shape, rule)


def _with_default(shape: Shape, rule: ValueRule) -> Shape:
    """Defaults and `required` come after the steps."""
    if rule.default is not None and not shape.is_many:
        shape = shape._replace(kind=merged((shape.kind, natural_kind(rule.default))) or shape.kind)
    return shape._replace(is_required=rule.required)


def _found_shape(rule: ValueRule) -> Shape:
    """What is found, before any step."""
    if rule.many or rule.fields:
        return Shape("json", is_many=rule.many and not rule.fields)
    kind: ColumnKind = "json"
    if rule.type in _TEXTS and (rule.type != "markdown" or rule.expr is None):
        kind = "text"
    elif rule.type == "meta":
        kind = _META.get(str(rule.expr), "json")
    elif rule.type == "const":
        kind = natural_kind(rule.expr)
    return Shape(kind)


def _either(shapes: list[Shape]) -> Shape:
    is_many = all(shape.is_many for shape in shapes)
    kind = merged(shape.kind for shape in shapes) or "json"
    return Shape(kind, is_many, all(shape.is_required for shape in shapes))
