"""Rules compiled for one engine, and everything noted that is wrong with them."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.pages.rules import EXPRESSIONS, FieldRule, FirstOf, NestedRule, ValueRule
from smartspider.extract.columns import Column, FirstOfColumn, NestedColumn
from smartspider.extract.engine import Engine, LinkKind
from smartspider.extract.fitting import idle_keys, kind_of_matches, misfit
from smartspider.extract.links import LinkFinder
from smartspider.extract.objects import Finder, ObjectsColumn
from smartspider.extract.one_rule import OneRule, WithinWrong
from smartspider.extract.scopes import ScopeKind
from smartspider.extract.treated import TreatedColumn
from smartspider.extract.wrong import ExpressionWrong
from smartspider.interfaces.step import StepChain, StepChainCompiler

_NAMES = {"css": "CSS", "xpath": "XPath"}
_LONGEST = 300


class Treatments:
    """The steps of rules, made once each, however often a rule is compiled."""

    def __init__(self, rule_steps: StepChainCompiler | None) -> None:
        self._rule_steps = rule_steps
        self._made: dict[str, StepChain] = {}

    def of(self, rule: ValueRule, path: str) -> StepChain:
        """The steps of the rule at a path; raises `TaskInvalid`."""
        if path not in self._made:
            if self._rule_steps is None:
                what = "steps of rules cannot be run here"
                raise TaskInvalid(what, (Problem(path, what),))
            self._made[path] = self._rule_steps(rule.steps, path)
        return self._made[path]


class RuleCompiler:
    """Compiles rules and notes what is wrong with them. What cannot be compiled is None."""

    def __init__(self, engine: Engine, treatments: Treatments) -> None:
        self._engine = engine
        self._treatments = treatments
        self.problems: dict[tuple[str, str], Problem] = {}
        self.misfits: dict[str, list[Problem]] = {}
        """Alternatives that cannot look into some kind of item, once for each kind."""

    def refuse(self, *problems: Problem) -> None:
        """Note problems, each of them once."""
        for problem in problems:
            self.problems.setdefault((problem.path, problem.message), problem)

    def field(self, rule: FieldRule, path: str, name: str, kind: ScopeKind) -> Column | None:
        """A field of places of some kind; `name` is the field's own, with dots."""
        match rule:
            case FirstOf(rules=rules):
                return self._first_of(rules, path, name, kind)
            case NestedRule(fields=fields):
                return self._nested(fields, path, name, kind)
            case ValueRule():
                wrong = misfit(rule, kind)
                if wrong is not None:
                    self.refuse(Problem(f"{path}.type", *wrong))
                    return None
                idle = list(idle_keys(rule, path))
                self.refuse(*idle)
                return None if idle else self._rule(rule, path, name, kind)

    def finder(self, rule: ValueRule, path: str, kind: ScopeKind) -> Finder | None:
        """The matches of a rule as places to look into."""
        try:
            return OneRule(rule, kind, self._engine).finder()
        except ExpressionWrong as wrong:
            self._refuse_expression(rule, f"{path}.expr", wrong)
            return None

    def links(self, rule: ValueRule, path: str, kind: ScopeKind, link: LinkKind) -> LinkFinder | None:
        """The links that a rule finds in places of some kind; `path` is that of its expression."""
        unfit = misfit(rule, kind)
        if unfit is not None:
            self.refuse(Problem(path, *unfit))
            return None
        try:
            return OneRule(rule, kind, self._engine).links(link)
        except ExpressionWrong as wrong:
            self._refuse_expression(rule, path, wrong)
            return None

    def _first_of(
        self, rules: tuple[FieldRule, ...], path: str, name: str, kind: ScopeKind
    ) -> FirstOfColumn | None:
        columns = []
        unfit = []
        for number, rule in enumerate(rules):
            place = f"{path}[{number}]"
            wrong = misfit(rule, kind) if isinstance(rule, ValueRule) else None
            if wrong is not None:
                unfit.append(Problem(f"{place}.type", *wrong))
                continue
            column = self.field(rule, place, name, kind)
            if column is not None:
                columns.append(column)
        if len(unfit) == len(rules):
            self.refuse(*unfit)
        for each in unfit:
            self.misfits.setdefault(each.path, []).append(each)
        return FirstOfColumn(tuple(columns), name) if columns else None

    def _nested(self, fields: dict[str, FieldRule], path: str, name: str, kind: ScopeKind) -> NestedColumn:
        columns = {
            inner: self.field(rule, f"{path}.{inner}", f"{name}.{inner}", kind)
            for inner, rule in fields.items()
        }
        return NestedColumn({inner: column for inner, column in columns.items() if column is not None})

    def _rule(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> Column | None:
        if rule.fields:
            return self._objects(rule, path, name, kind)
        return self._treated(rule, path, kind) if rule.steps else self._value(rule, path, kind)

    def _objects(self, rule: ValueRule, path: str, name: str, kind: ScopeKind) -> ObjectsColumn | None:
        finder = self.finder(rule, path, kind)
        fields = self._nested(rule.fields, f"{path}.fields", name, kind_of_matches(rule))
        return None if finder is None else ObjectsColumn(rule, finder, fields)

    def _treated(self, rule: ValueRule, path: str, kind: ScopeKind) -> TreatedColumn | None:
        is_many = rule.many or rule.join is not None
        found = self._value(msgspec.structs.replace(rule, many=is_many, join=None), path, kind)
        try:
            treatment = self._treatments.of(rule, f"{path}.steps")
        except TaskInvalid as wrong:
            self.refuse(*wrong.problems)
            return None
        return None if found is None else TreatedColumn(rule, found, treatment)

    def _value(self, rule: ValueRule, path: str, kind: ScopeKind) -> Column | None:
        try:
            return OneRule(rule, kind, self._engine).column()
        except ExpressionWrong as wrong:
            self._refuse_expression(rule, f"{path}.expr", wrong)
            return None

    def _refuse_expression(self, rule: ValueRule, path: str, wrong: ExpressionWrong) -> None:
        kind, expr = _NAMES.get(rule.type, rule.type), rule.expr
        if rule.type == "jmespath" or rule.type not in EXPRESSIONS:
            kind = "JMESPath"
        if isinstance(wrong, WithinWrong):
            kind, expr, path = "CSS", rule.within, path.removesuffix(".expr") + ".in"
        place = "" if wrong.at is None else f" at position {wrong.at}"
        quoted = repr(expr) if len(str(expr)) <= _LONGEST else repr(str(expr)[:_LONGEST]) + "..."
        what = f"the {kind} expression {quoted} is wrong{place}: {wrong.what}"
        self.refuse(Problem(path, what, wrong.hint))
