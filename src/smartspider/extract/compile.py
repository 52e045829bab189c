"""A task's rules compiled: `compile_pages` refuses what cannot work, and gives the extractor of a run."""

from __future__ import annotations

from smartspider.core.errors import NotReadable, Problem, TaskInvalid
from smartspider.core.extraction import Extraction
from smartspider.core.page import Page
from smartspider.core.request import DEFAULT_PAGE, Request
from smartspider.core.rules import FieldRule, FirstOf, Follow, Nested, NextLink, PagePlan, Rule
from smartspider.core.traps import TrapGuards
from smartspider.extract.columns import (
    Column,
    ConstColumn,
    CssColumn,
    FirstOfColumn,
    MetaColumn,
    NestedColumn,
)
from smartspider.extract.css_check import check_css
from smartspider.extract.links import FollowLinks, PageLinks
from smartspider.extract.page_reader import PageReader
from smartspider.extract.query import Query, make_queries
from smartspider.extract.selector import Member, SelectorWrong
from smartspider.interfaces.extractor import Extractor


class LexborExtractor:
    """Reads pages by CSS on Lexbor."""

    def __init__(self, readers: dict[str, PageReader]) -> None:
        self._readers = readers

    def extract(self, page: Page, request: Request) -> Extraction:
        """Items and links of a page, by the rules of the request's page type."""
        reader = self._readers.get(request.page)
        if reader is None:
            raise NotReadable(f"the task has no page type {request.page!r}")
        return reader.read(page, request)


def compile_pages(pages: dict[str, PagePlan], traps: TrapGuards) -> Extractor:
    """The extractor of these page types; raises `TaskInvalid` naming every rule that cannot work."""
    problems: list[Problem] = []
    readers = {
        name: _Compiler(name, problems).page_reader(plan, traps.max_links_per_page)
        for name, plan in pages.items()
    }
    if problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)
    return LexborExtractor(readers)


class _Compiler:
    """Compiles one page type and notes what is wrong with it."""

    def __init__(self, page: str, problems: list[Problem]) -> None:
        self._page = page
        self._prefix = "" if page == DEFAULT_PAGE else f"pages.{page}."
        self._problems = problems

    def page_reader(self, plan: PagePlan, max_links: int) -> PageReader:
        items = None
        if plan.items is not None:
            queries = self._element_queries(plan.items, f"{self._prefix}selectors.items.expr")
            items = queries[0] if queries else None
        fields = {
            name: self._column(rule, f"{self._prefix}selectors.fields.{name}")
            for name, rule in plan.fields.items()
        }
        return PageReader(items, fields, self._links(plan, max_links))

    def _column(self, rule: FieldRule, path: str) -> Column:
        match rule:
            case FirstOf(rules=rules):
                return FirstOfColumn(
                    tuple(self._column(inner, f"{path}[{number}]") for number, inner in enumerate(rules))
                )
            case Nested(fields=fields):
                return NestedColumn(
                    {name: self._column(inner, f"{path}.{name}") for name, inner in fields.items()}
                )
            case Rule(type="const"):
                return ConstColumn(rule)
            case Rule(type="meta"):
                return MetaColumn(rule)
            case Rule():
                return CssColumn(rule, make_queries(self._members(rule, f"{path}.expr"), is_raw=rule.is_raw))

    def _links(self, plan: PagePlan, max_links: int) -> PageLinks | None:
        if not plan.follow and plan.pagination is None:
            return None
        follows = tuple(self._follow(follow, number) for number, follow in enumerate(plan.follow))
        return PageLinks(self._page, follows, self._next_link(plan.pagination), max_links)

    def _follow(self, follow: Follow, number: int) -> FollowLinks:
        path = f"{self._prefix}follow[{number}].selector"
        return FollowLinks(follow, self._link_queries(follow.rule, path))

    def _next_link(self, pagination: NextLink | None) -> tuple[Query, ...]:
        if pagination is None:
            return ()
        return self._link_queries(pagination.rule, f"{self._prefix}pagination.selector")

    def _link_queries(self, rule: Rule, path: str) -> tuple[Query, ...]:
        members = self._members(rule, path)
        if any(member.take in {"text", "deep_text"} for member in members):
            self._refuse(path, f"{rule.expr!r} gives text, not links", "select elements, or use ::attr(name)")
        return make_queries(members, is_raw=False)

    def _element_queries(self, rule: Rule, path: str) -> tuple[Query, ...]:
        members = self._members(rule, path)
        if any(member.take != "element" for member in members):
            self._refuse(path, f"{rule.expr!r} gives values, not elements", "items are elements")
        return make_queries(members, is_raw=False)

    def _members(self, rule: Rule, path: str) -> tuple[Member, ...]:
        if rule.type != "css":
            self._refuse(path, f"a rule of type {rule.type!r} cannot be used here", "use css")
            return ()
        if not isinstance(rule.expr, str):
            self._refuse(path, f"a CSS expression is text, not {rule.expr!r}")
            return ()
        try:
            members = check_css(rule.expr)
        except SelectorWrong as wrong:
            what = f"the CSS expression {rule.expr!r} is wrong at position {wrong.at}: {wrong.what}"
            self._refuse(path, what, wrong.hint)
            return ()
        if rule.attr is None:
            return members
        if any(member.take != "element" for member in members):
            self._refuse(
                path, f"{rule.expr!r} has a pseudo-element, and `attr` is given too", "use one of them"
            )
        return tuple(member._replace(take="attr", attr=rule.attr) for member in members)

    def _refuse(self, path: str, message: str, hint: str = "") -> None:
        self._problems.append(Problem(path, message, hint))
