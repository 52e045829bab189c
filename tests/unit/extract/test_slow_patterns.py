"""Patterns that take too long end their page, with their place in the task."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from smartspider.core.errors import PatternTimeout
from smartspider.core.pages.page import Page
from smartspider.core.requests.scope import pattern_refusal
from smartspider.extract.libxml import xpath_patterns
from smartspider.services.plans import compile_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

SLOW = r"(?=x)(x+x+)+y"
TEXT = "x" * 3000
HTML = f"<html><body><p>{TEXT}</p></body></html>".encode()


def read(**task: Any) -> None:
    plan = compile_task(parse_task({"name": "slow", "entry_urls": ["http://h.example/"], **task}))
    compiled = compile_plan(plan)
    page = Page("http://h.example/", 200, {}, HTML, "utf-8", 0.0)
    extraction = compiled.extractor.extract(page, plan.entries[0])
    if compiled.pipeline is not None:
        compiled.pipeline.process(extraction, page)


@pytest.mark.parametrize(
    ("place", "task"),
    [
        ("selectors.fields.a", {"selectors": {"fields": {"a": {"type": "regex", "expr": SLOW}}}}),
        (
            "pipeline[0] schema",
            {
                "selectors": {"fields": {"a": "p"}},
                "pipeline": [{"use": "schema", "fields": ["a"], "json_schema": {"pattern": SLOW}}],
            },
        ),
    ],
)
def test_a_slow_pattern_ends_its_page(place: str, task: dict[str, Any]) -> None:
    with pytest.raises(PatternTimeout) as caught:
        read(**task)
    assert caught.value.path == place
    assert "took more than 2 s" in caught.value.message


def test_a_slow_pattern_of_the_scope_is_named() -> None:
    with pytest.raises(PatternTimeout) as caught:
        pattern_refusal(f"http://h.example/{TEXT}", (), ("ordinary", SLOW))
    assert caught.value.path == "scope.deny[1]"


@pytest.mark.parametrize(
    "expr",
    [
        "re:test(//p[1], '^a.c$')",
        "re:test(//p, 'B', 'i')",
        "re:test('', 'x')",
        "re:match(string(//p[2]), '(\\w)(\\d)')",
        "re:match(string(//p[2]), '\\w\\d', 'g')",
        "re:match(string(//p[2]), '(\\w)(\\d)', 'gi')",
        "re:match('x', 'y')",
        "re:replace(string(//p[2]), '(\\w)\\d', '', '<\\1>')",
        "re:replace(string(//p[2]), '(\\w)\\d', 'g', '<\\1>')",
        "re:replace(//i/@title, 'T', 'gi', '')",
    ],
)
def test_functions_of_xpath_answer_as_those_of_lxml(expr: str) -> None:
    root = etree.fromstring("<r><p>abc<!-- x --></p><p>a1 b2 C3</p><i title='tT'/></r>")
    names = {"re": xpath_patterns.NAMESPACE}
    theirs: Any = etree.XPath(expr, namespaces=names)(root)
    own: Any = etree.XPath(expr, namespaces=names, extensions=xpath_patterns.FUNCTIONS, regexp=False)(root)
    assert _plain(own) == _plain(theirs)


def _plain(value: Any) -> Any:
    return [each.text for each in value] if isinstance(value, list) else value
