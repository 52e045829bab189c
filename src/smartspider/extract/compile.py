"""Compile the rules of a task into an extractor."""

from __future__ import annotations

from smartspider.core.errors import NotReadable, Problem, TaskInvalid
from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import EXPRESSIONS, PagePlan
from smartspider.core.requests.request import Request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.page_reader import PageReader
from smartspider.extract.rules.engine import Engine
from smartspider.extract.rules.page_compiler import PageCompiler, PageRules
from smartspider.extract.rules.rule_checks import all_rules
from smartspider.extract.rules.rule_compiler import StepChains
from smartspider.interfaces.extractor import Extractor
from smartspider.interfaces.step import StepChainCompiler


class RulesExtractor:
    """Extracts by the rules of the page type."""

    def __init__(self, plans: dict[str, PagePlan], readers: dict[str, PageReader], max_links: int) -> None:
        self._plans = plans
        self._readers = readers
        self._max_links = max_links

    def extract(self, page: Page, request: Request) -> Extraction:
        """Return the items and links of a page, by the rules of the request's page type."""
        reader = self._readers.get(request.page)
        if reader is not None:
            return reader.read(page, request)
        plan = self._plans.get(request.page)
        if plan is None:
            raise NotReadable(f"the task has no page type {request.page!r}")
        from smartspider.extract.links.sitemap import read_sitemap_page

        return read_sitemap_page(plan, page, request, self._max_links)

    def engine_of(self, page: str) -> str:
        """Return the engine for HTML of a page type, `lexbor` or `lxml`; `json` or `text` if no rule reads
        HTML.
        """
        plan = self._plans.get(page)
        return "none" if plan is None else engine_name(plan)


def engine_name(plan: PagePlan) -> str:
    """Return the engine of a page type: lxml if any rule is XPath."""
    if plan.kind != "rules":
        return "lxml" if plan.kind == "sitemap" else "text"
    types = {"css" if rule.within is not None else rule.type for rule in all_rules(plan)}
    if "xpath" in types:
        return "lxml"
    if "css" in types or types - EXPRESSIONS:
        return "lexbor"
    if "jmespath" in types:
        return "json"
    return "text" if "regex" in types else "none"


def compile_pages(
    pages: dict[str, PagePlan], traps: TrapGuards, compile_steps: StepChainCompiler | None = None
) -> Extractor:
    """Compile page types into an extractor; raise `TaskInvalid` naming every invalid rule."""
    chains = StepChains(compile_steps)
    problems: list[Problem] = []
    readers = {
        name: _page_reader(plan, chains, traps.max_links_per_page, problems)
        for name, plan in pages.items()
        if plan.kind == "rules"
    }
    if problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)
    return RulesExtractor(pages, readers, traps.max_links_per_page)


def _page_reader(plan: PagePlan, chains: StepChains, max_links: int, problems: list[Problem]) -> PageReader:
    is_on_lxml = engine_name(plan) == "lxml"
    compiler = PageCompiler(plan, _html_engine(is_on_lxml=is_on_lxml), chains, max_links)
    rules = compiler.compile()
    problems += compiler.problems

    def xml_rules() -> PageRules:
        from smartspider.extract.libxml.engine import LibxmlEngine

        compiler = PageCompiler(plan, LibxmlEngine(is_xml=True), chains, max_links)
        rules = compiler.compile()
        if compiler.problems:
            first = compiler.problems[0]
            raise NotReadable(f"the page is XML, and {first.path} does not work there: {first.message}")
        return rules

    return PageReader(rules, xml_rules, is_on_lxml=is_on_lxml, emits=plan.emits)


def _html_engine(*, is_on_lxml: bool) -> Engine:
    if is_on_lxml:
        from smartspider.extract.libxml.engine import LibxmlEngine

        return LibxmlEngine(is_xml=False)
    from smartspider.extract.lexbor.engine import LexborEngine

    return LexborEngine()
