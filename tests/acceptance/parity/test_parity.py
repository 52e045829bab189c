"""The same answers as parsel in raw mode, over real documentation, broken pages and rules made by chance."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsel import Selector
from tests.acceptance.conftest import Figures
from tests.acceptance.parity.differences import REASONS, reasons
from tests.acceptance.parity.pages import ROOT, broken_page, documentation_pages
from tests.acceptance.parity.peers import Asked, html5_selector

from smartspider.core.pages.rules import RuleType

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

PAGES = 520
BROKEN = 2_500
CHANCES = 250
PAGES_EACH = 10

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

CSS: tuple[str, ...] = (
    "title::text", "h1", "h1::text", "h2 ::text", "a::attr(href)", "a::text", "p", "p::text", "li > a::text",
    "ul > li:first-child::text", "td:nth-child(2)::text", "table tr td", "pre::text", "code",
    "[id]::attr(id)", "a[href^='http']::attr(href)", "p:not([class])", "dl > dt",
    "div > p:first-of-type::text",
    "meta::attr(content)", "h2 + p::text", "h2 ~ p",
)  # fmt: skip
XPATH: tuple[str, ...] = (
    "//title/text()", "//h1", "//h1//text()", "//a/@href", "//a[contains(@href, 'html')]/text()", "//p[1]",
    "//table//tr[position() > 1]/td[1]/text()", "//ul/li[last()]", "count(//a)", "string(//h1)",
    "//pre/text()", "//*[@id]/@id", "//h2/following-sibling::p[1]", "//div[@class][p]/@class",
    "//a[re:test(@href, '^[a-z]+\\.html$')]/@href", "//p[has-class('x') or not(@class)]",
    "normalize-space(//body)", "//dl/dt[1]", "//*[self::h1 or self::h2]/text()", "boolean(//pre)",
)  # fmt: skip


class Score:
    """The results of the comparisons."""

    def __init__(self) -> None:
        self.compared = self.equal = self.explained = 0
        self.why: Counter[str] = Counter()
        self.unexplained: list[str] = []

    def compare(self, asked: Asked, html: str, label: str) -> None:
        """Count each rule of a page; a difference has to be the HTML5 tree's, and by a reason on the list."""
        ours = asked.ours(html)
        theirs = asked.parsels(Selector(text=html, type="html"))
        self.compared += len(asked.rules)
        if ours == theirs:
            self.equal += len(asked.rules)
            return
        standard = html5_selector(html)
        found = reasons(standard, Selector(text=html, type="html"))
        self.why.update(found)
        wanted = asked.parsels(standard)
        for number, (_, expr) in enumerate(asked.rules):
            mine = [item[number] for item in ours]
            if mine == [item[number] for item in theirs]:
                self.equal += 1
            elif _same(mine, [item[number] for item in wanted]) and found and found <= REASONS.keys():
                self.explained += 1
            else:
                self.unexplained.append(f"{label}: {expr}: {str(mine)[:300]} ({sorted(found)})")

    def figures(self, title: str) -> str:
        """Return the results in one line."""
        return (
            f"{title}: {self.compared} comparisons, {self.equal} equal, {self.explained} explained by HTML5"
            f" parsing, {len(self.unexplained)} unexplained; pages by reason: {dict(self.why.most_common())}"
        )


def _same(ours: list[list[str]], theirs: list[list[str]]) -> bool:
    """Equal but for the content of comments: lxml does not let one make every comment by hand."""
    return [[COMMENT.sub("", value) for value in values] for values in ours] == [
        [COMMENT.sub("", value) for value in values] for values in theirs
    ]


def rules_of(kind: RuleType, exprs: tuple[str, ...]) -> list[tuple[RuleType, str]]:
    return [(kind, expr) for expr in exprs]


@pytest.mark.long
def test_real_pages_give_the_answers_of_parsel(figures: Figures) -> None:
    pages = [path.read_bytes().decode("utf-8", "replace") for path in documentation_pages(PAGES)]
    assert len(pages) >= 500
    css, xpath = Asked(rules_of("css", CSS)), Asked(rules_of("xpath", XPATH))
    items = Asked(
        [("css", "a::text"), ("css", ":scope > a::attr(href)"), ("css", "::attr(class)")], ("css", "li")
    )
    score, exact = Score(), Score()
    for number, html in enumerate(pages):
        score.compare(css, html, f"page {number}")
        score.compare(items, html, f"page {number}")
        exact.compare(xpath, html, f"page {number}")
        exact.compare(css.on_lxml(), html, f"page {number}")
    figures(score.figures(f"CSS on Lexbor, {len(pages)} documentation pages"))
    figures(exact.figures(f"XPath and CSS on lxml, {len(pages)} documentation pages"))
    assert not score.unexplained, score.unexplained[:5]
    assert not exact.unexplained
    assert exact.equal == exact.compared


def test_broken_pages_give_the_answers_of_parsel(figures: Figures) -> None:
    rules = ("a::text", "a::attr(href)", ".card", "div > p", "b ::text", "li", "td::text", "[data-x]", "body")
    css, xpath = (
        Asked(rules_of("css", rules)),
        Asked(rules_of("xpath", ("//li", "//a/@href", "//td//text()"))),
    )
    score, exact = Score(), Score()
    for seed in range(BROKEN):
        html = broken_page(seed)
        score.compare(css, html, f"seed {seed}")
        exact.compare(xpath, html, f"seed {seed}")
    figures(score.figures(f"CSS on Lexbor, {BROKEN} broken pages"))
    figures(exact.figures(f"XPath on lxml, {BROKEN} broken pages"))
    assert not score.unexplained, score.unexplained[:5]
    assert exact.equal == exact.compared


TAGS = st.sampled_from(["a", "b", "div", "p", "li", "td", "span", "*", "ul", "table"])
SIMPLE = st.sampled_from(
    ["", ".a", ".card", "#x", "[title]", "[data-x='x']", "[href^='/']", ":first-child", ":last-child",
     ":nth-child(2)", ":nth-of-type(2n+1)", ":not(.a)", ":only-child", ":empty"]
)  # fmt: skip
COMPOUND = st.builds(lambda tag, one, two: f"{tag}{one}{two}", TAGS, SIMPLE, SIMPLE)
TAIL = st.sampled_from(["", "::text", "::attr(href)", " ::text", "::attr(class)"])
CSS_RULES = st.builds(
    lambda parts, joins, tail: (
        "".join(part + join for part, join in zip(parts, [*joins, ""], strict=False)) + tail
    ),
    st.lists(COMPOUND, min_size=1, max_size=3),
    st.lists(st.sampled_from([" ", " > ", " + ", " ~ "]), min_size=2, max_size=2),
    TAIL,
).filter(lambda rule: not rule.rstrip().endswith((">", "+", "~")) and "*:nth-of-type" not in rule)
STEP = st.builds(
    lambda axis, tag, test: f"{axis}{tag}{test}",
    st.sampled_from(["//", "/", "/descendant::", "/parent::", "/following-sibling::"]),
    TAGS,
    st.sampled_from(
        ["", "[1]", "[last()]", "[@class]", "[not(@id)]", "[.//a]", "[position() < 3]", "[text()]"]
    ),
)
XPATH_RULES = st.builds(
    lambda steps, end: "//" + "".join(steps).lstrip("/") + end,
    st.lists(STEP, min_size=1, max_size=3),
    st.sampled_from(["", "/text()", "/@href", "//text()", "/@*"]),
).filter(lambda rule: "////" not in rule and not rule.startswith(("//parent::", "//following")))


@pytest.mark.long
def test_rules_made_by_chance_give_the_answers_of_parsel(figures: Figures) -> None:
    score, exact = Score(), Score()

    @settings(
        max_examples=CHANCES, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(css=CSS_RULES, xpath=XPATH_RULES, seed=st.integers(0, 100_000))
    def compare(css: str, xpath: str, seed: int) -> None:
        mine, other = Asked([("css", css)]), Asked([("xpath", xpath), ("css", css)])
        for page in range(seed, seed + PAGES_EACH):
            html = broken_page(page)
            score.compare(mine, html, f"seed {page}")
            exact.compare(other, html, f"seed {page}")
        assert not score.unexplained, score.unexplained[-1]
        assert exact.equal == exact.compared

    compare()
    figures(score.figures("CSS rules by chance on Lexbor"))
    figures(exact.figures("XPath and CSS rules by chance on lxml"))
    assert score.compared + exact.compared >= 5_000


def test_the_list_of_differences_is_the_published_one() -> None:
    text = (ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| ([a-z ]+) \| [^|*]+ \|$", text, re.MULTILINE)[1:] == list(REASONS)
