"""A page type pays only for the rule types it has."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.core.pages.rules import FollowRule, PagePlan, ValueRule
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
fields = {"x": ValueRule(*json.loads(sys.argv[1]))}
plan = PagePlan("default", fields=fields, follow=(FollowRule(ValueRule("css", "a"), "default"),))
page = Page("http://h/", 200, {}, b"<p>x</p><script type='application/ld+json'>{}</script>", "utf-8", 0.0)
compile_pages({"default": plan}, TrapGuards()).extract(page, make_request("http://h/"))
print(json.dumps([name for name in sys.modules if name in json.loads(sys.argv[2])]))
"""
HEAVY = ["lxml", "cssselect", "jmespath", "trafilatura", "markdownify", "smartspider.extract.sources"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (["css", "p"], []),
        (["regex", "p"], []),
        (["xpath", "//p"], ["lxml", "cssselect"]),
        (["json_ld", "[0]"], ["jmespath", "smartspider.extract.sources"]),
    ],
)
def test_only_what_rules_need_is_imported(rule: list[str], expected: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(rule), json.dumps(HEAVY)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(json.loads(run.stdout)) == sorted(expected)
