"""What no single key can know: names that must exist elsewhere in the task."""

from __future__ import annotations

from collections.abc import Iterator

from smartspider.core.errors import Problem
from smartspider.core.request import DEFAULT_PAGE
from smartspider.taskfile.keys import did_you_mean, nearest
from smartspider.taskfile.model import Task
from smartspider.taskfile.pages import PageType
from smartspider.taskfile.rules import Rule


def cross_problems(task: Task) -> list[Problem]:
    """Everything that contradicts something else in the task."""
    return [*_default_page(task), *_entry_pages(task), *_page_problems(task), *_field_names(task)]


def page_prefix(task: Task, name: str) -> str:
    """Where the keys of a page type stand in the task: nothing, or `pages.NAME.`."""
    return f"pages.{name}." if name in task.pages else ""


def _default_page(task: Task) -> Iterator[Problem]:
    top = PageType(selectors=task.selectors, follow=task.follow, pagination=task.pagination)
    if DEFAULT_PAGE in task.pages and not top.is_empty:
        reason = "the page type 'default' is defined twice: here and by the top-level keys"
        yield Problem("pages.default", reason, "keep the top-level selectors, follow and pagination, or this")


def _entry_pages(task: Task) -> Iterator[Problem]:
    types = task.page_types
    has_default = DEFAULT_PAGE in task.pages or not task.pages or not types[DEFAULT_PAGE].is_empty
    for index, entry in enumerate(task.entry_urls):
        page = DEFAULT_PAGE if isinstance(entry, str) else entry.page
        if page not in types:
            yield _unknown(f"entry_urls[{index}].page", "page type", page, list(types))
        elif page == DEFAULT_PAGE and not has_default:
            reason = "the entry has page type 'default', which takes and follows nothing"
            hint = "write it as {url, page}; page types: " + ", ".join(task.pages)
            yield Problem(f"entry_urls[{index}]", reason, hint)


def _page_problems(task: Task) -> Iterator[Problem]:
    types = task.page_types
    for name, page in types.items():
        prefix = page_prefix(task, name)
        for index, follow in enumerate(page.follow):
            if follow.to is not None and follow.to not in types:
                yield _unknown(f"{prefix}follow[{index}].to", "page type", follow.to, list(types))
        items = page.selectors.items
        for rule in items if isinstance(items, list) else [items]:
            if isinstance(rule, Rule) and rule.type in ("const", "meta"):
                reason = f"a {rule.type} rule finds no elements"
                yield Problem(f"{prefix}selectors.items", reason, "leave items out: the page is one item")


def _field_names(task: Task) -> Iterator[Problem]:
    known = list({name: None for page in task.page_types.values() for name in page.selectors.fields})
    named = {
        "dedup.items": task.dedup.items,
        "alerts.empty_fields": task.alerts.empty_fields if task.alerts else None,
    }
    for path, names in named.items():
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if name not in known:
                yield _unknown(f"{path}[{index}]", "field", name, known)


def _unknown(path: str, what: str, name: str, known: list[str]) -> Problem:
    near = nearest(name, known)
    hint = did_you_mean(near) if near else f"known: {', '.join(known)}" if known else ""
    return Problem(path, f"there is no {what} {name!r}", hint)
