"""`make bench` puts figures between marks of a page, and leaves the words around them alone."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
PAGE = """# Words

<!-- bench:a -->
old
<!-- /bench:a -->

More words.
<!-- bench:b -->
<!-- /bench:b -->
"""


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("report"), importlib.import_module("run")
    for name in ("report", "run"):
        sys.modules.pop(name, None)


def test_only_figures_are_replaced(modules: tuple[ModuleType, ModuleType]) -> None:
    report, _ = modules
    filled = report.fill(PAGE, {"b": "| new |\n"})
    assert filled == PAGE.replace("bench:b -->\n<", "bench:b -->\n| new |\n<")
    assert report.fill(filled, {"b": "| new |"}) == filled, "once more changes nothing"
    assert "\nold\n" not in report.fill(PAGE, {"a": "1"})


@pytest.mark.parametrize("page", ["", PAGE + PAGE, PAGE.replace("/bench:a", "/bench:c")])
def test_figures_without_a_place_are_refused_before_they_are_measured(
    modules: tuple[ModuleType, ModuleType], page: str
) -> None:
    report, _ = modules
    with pytest.raises(report.NoPlace, match="bench:a"):
        report.check(page, ["a"])


def test_the_page_has_a_place_for_each_figure_and_no_other(modules: tuple[ModuleType, ModuleType]) -> None:
    report, run = modules
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    names = list(run.jobs(1, 1))
    report.check(page, names)
    assert report.places(page) == names
    assert not re.search(r"bench:\w+ -->\n<!-- /", page), "a place is empty"
