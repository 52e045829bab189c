"""Compilation of `download` steps to the page types of their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from smartspider.core.pages.files import FilePlan
from smartspider.core.pages.rules import FieldRule, FirstOf, NestedRule, PagePlan, ValueRule

DOWNLOAD = "download"
"""The name of the step."""

Steps = Iterable[Mapping[str, Any]]


def file_pages(pages: Mapping[str, PagePlan], pipeline: Steps) -> dict[str, PagePlan]:
    """Return the page types of the files that the steps of a task download.

    Steps with invalid options are left out; they are reported when steps are compiled.
    """
    rules = (rule for page in pages.values() for rule in page.fields.values())
    plans = [plan for steps in (pipeline, *map(_steps_in, rules)) for plan in _plans(steps)]
    return {plan.page: PagePlan(plan.page, kind="file", file=plan, emits=False) for plan in plans}


def _plans(steps: Steps) -> Iterator[FilePlan]:
    for step in steps:
        if step["use"] == DOWNLOAD and step.get("enabled") is not False:
            options = {name: step[name] for name in FilePlan.__struct_fields__ if name in step}
            try:
                yield msgspec.convert(options, FilePlan)
            except msgspec.ValidationError:
                continue


def _steps_in(rule: FieldRule) -> Iterator[Mapping[str, Any]]:
    match rule:
        case FirstOf(rules=rules):
            for inner in rules:
                yield from _steps_in(inner)
        case NestedRule(fields=fields):
            for inner in fields.values():
                yield from _steps_in(inner)
        case ValueRule(steps=steps, fields=fields):
            yield from steps
            for inner in fields.values():
                yield from _steps_in(inner)
