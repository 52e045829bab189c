"""Compile fields for one engine."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.pages.rules import EXPRESSIONS, FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.fields.columns import (
    FieldColumn,
    FirstOfColumn,
    NestedColumn,
    ObjectsColumn,
    ScopeFinder,
)
from smartspider.extract.fields.scopes import ScopeKind
from smartspider.extract.fields.steps_column import StepsColumn
from smartspider.extract.links.page_links import LinkFinder
from smartspider.extract.rules.engine import Engine, LinkKind
from smartspider.extract.rules.expression_compiler import ExpressionCompiler, InvalidWithin
from smartspider.extract.rules.rule_checks import match_kind, scope_mismatch, unused_keys
from smartspider.interfaces.step import StepChain, StepChainCompiler

_NAMES = {"css": "CSS", "xpath": "XPath"}
_LONGEST = 300


class StepChains:
    """The compiled steps of rules; each is compiled once, even if its rule is compiled several times."""

    def __init__(self, compile_steps: StepChainCompiler | None) -> None:
        self._compile_steps = compile_steps
        self._compiled: dict[str, StepChain] = {}

    def get(self, rule: ValueRule, path: str) -> StepChain:
        """Return the steps of the rule at a path; raise `TaskInvalid`."""
        if path not in self._compiled:
            if self._compile_steps is None:
                what = "steps of rules cannot be run here"
                raise TaskInvalid(what, (Problem(path, what),))
            self._compiled[path] = self._compile_steps(rule.steps, path)
        return self._compiled[path]


class RuleCompiler:
    """Compiles rules and collects their problems. An invalid rule compiles to None."""

    def __init__(self, engine: Engine, chains: StepChains) -> None:
        self._engine = engine
        self._chains = chains
        self.problems: dict[tuple[str, str], Problem] = {}
        self.mismatches: dict[str, list[Problem]] = {}
        """Alternatives that cannot search some kind of item, one problem per kind."""

    def add_problems(self, *problems: Problem) -> None:
        """Add problems, each once."""
        for problem in problems:
            self.problems.setdefault((problem.path, problem.message), problem)

    def field(self, rule: FieldRule, path: str, name: str, kind: ScopeKind) -> FieldColumn | None:
        """Compile a field for a kind of scope; `name` is its dotted path in the item."""
        match rule:
            case FirstOf(rules=rules):
                return self._first_of(rules, path, name, kind)
            case NestedRule(fields=fields):
                return self._nested(fields, path, name, kind)
            case ValueRule():
                wrong = scope_mismatch(rule, kind)
                if wrong is not None:
                    self.add_problems(Problem(f"{path}.type", *wrong))
                    return None
                unused = list(unused_keys(rule, path))
                self.add_problems(*unused)
                return None if unused else self._rule(rule, path, name, kind)

    def finder(self, rule: ValueRule, path: str, kind: ScopeKind) -> ScopeFinder | None:
        """Compile a rule whose matches are searched in turn."""
        try:
            return ExpressionCompiler(rule, kind, self._engine).finder()
        except InvalidExpression as wrong:
            self._add_expression_problem(rule, f"{path}.expr", wrong)
            return None

    def links(self, rule: ValueRule, path: str, kind: ScopeKind, link: LinkKind) -> LinkFinder | None:
        """Compile a rule that finds links; `path` is the path of its expression."""
        mismatched = scope_mismatch(rule, kind)
        if mismatched is not None:
            self.add_problems(Problem(path, *mismatched))
            return None
        try:
            return ExpressionCompiler(rule, kind, self._engine).links(link)
        except InvalidExpression as wrong:
            self._add_expression_problem(rule, path, wrong)
            return None

    def _first_of(
        self, rules: tuple[FieldRule, ...], path: str, name: str, kind: ScopeKind
    ) -> FirstOfColumn | None:
        columns = []
        mismatched = []
        for number, rule in enumerate(rules):
            place = f"{path}[{number}]"
            wrong = scope_mismatch(rule, kind) if isinstance(rule, ValueRule) else None
            if wrong is not None:
                mismatched.append(Problem(f"{place}.type", *wrong))
                continue
            column = self.field(rule, place, name, kind)
            if column is not None:
                columns.append(column)
        if len(mismatched) == len(rules):
            self.add_problems(*mismatched)
        for each in mismatched:
            self.mismatches.setdefault(each.path, []).append(each)
        return FirstOfColumn(tuple(columns), name) if columns else None

    def _nested(self, fields: dict[str, FieldRule], path: str, name: str, kind: ScopeKind) -> NestedColumn:
        columns = {
            inner: self.field(rule, f"{path}.{inner}", f"{name}.{inner}", kind)
            for inner, rule in fields.items()
        }
        return NestedColumn({inner: column for inner, column in columns.items() if column is not None})

    def _rule(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> FieldColumn | None:
        if rule.fields:
            return self._objects(rule, path, name, kind)
        make = self._steps_column if rule.steps else self._value
        return make(rule, path, name, kind)

    def _objects(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> ObjectsColumn | None:
        finder = self.finder(rule, path, kind)
        fields = self._nested(rule.fields, f"{path}.fields", name, match_kind(rule))
        return None if finder is None else ObjectsColumn(rule, finder, fields)

    def _steps_column(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> StepsColumn | None:
        is_many = rule.many or rule.join is not None
        found = self._value(msgspec.structs.replace(rule, many=is_many, join=None), path, name, kind)
        try:
            chain = self._chains.get(rule, f"{path}.steps")
        except TaskInvalid as wrong:
            self.add_problems(*wrong.problems)
            return None
        return None if found is None else StepsColumn(rule, found, chain)

    def _value(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> FieldColumn | None:
        try:
            return ExpressionCompiler(rule, kind, self._engine).column(name)
        except InvalidExpression as wrong:
            self._add_expression_problem(rule, f"{path}.expr", wrong)
            return None

    def _add_expression_problem(self, rule: ValueRule, path: str, wrong: InvalidExpression) -> None:
        kind, expr = _NAMES.get(rule.type, rule.type), rule.expr
        if rule.type == "jmespath" or rule.type not in EXPRESSIONS:
            kind = "JMESPath"
        if isinstance(wrong, InvalidWithin):
            kind, expr, path = "CSS", rule.within, path.removesuffix(".expr") + ".in"
        place = "" if wrong.at is None else f" at position {wrong.at}"
        quoted = repr(expr) if len(str(expr)) <= _LONGEST else repr(str(expr)[:_LONGEST]) + "..."
        what = f"the {kind} expression {quoted} is invalid{place}: {wrong.what}"
        self.add_problems(Problem(path, what, wrong.hint))
