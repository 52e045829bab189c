"""Checks across sections of a task: references to page types and fields, and unsupported features."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from smartspider.core.errors import NotBuilt, Problem
from smartspider.core.pages.rules import OWN_PAGE
from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.core.requests.templates import placeholders_in
from smartspider.plugins import registry
from smartspider.plugins.kinds import TRANSPORT
from smartspider.taskfile.entry_checks import find_entry_problems
from smartspider.taskfile.keys import WORKS_TODAY, did_you_mean, nearest
from smartspider.taskfile.model.entries import EntryList, EntryOptions
from smartspider.taskfile.model.fetch import MODES, fetch_modes
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.pages import Follow, PageType, Selectors
from smartspider.taskfile.model.rules import Rule
from smartspider.taskfile.model.schedule import Schedule, find_schedule_problems
from smartspider.taskfile.model.sections import Adaptive
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.model.values import duration_s
from smartspider.taskfile.problems import format_value
from smartspider.taskfile.secret_checks import find_secret_problems

_MAX_PROBLEMS = 100
"""Maximum number of reported problems of entries."""


def find_contradictions(task: Task) -> list[Problem]:
    """Return the problems that involve more than one section."""
    return [
        *_default_page(task),
        *islice(_entry_pages(task), _MAX_PROBLEMS),
        *islice(find_entry_problems(task), _MAX_PROBLEMS),
        *_sitemaps(task),
        *_page_problems(task),
        *_layer_pages(task),
        *_field_names(task),
        *_item_dedup(task),
        *_intervals(task),
        *_schedule(task),
        *islice(_cookie_headers(task), _MAX_PROBLEMS),
        *islice(find_secret_problems(task), _MAX_PROBLEMS),
    ]


def find_unknown_modes(task: Task) -> list[Problem]:
    """Return a problem for each `fetch.mode` that neither this version nor an installed package knows."""
    named = {path: fetch.mode for path, fetch in task.fetch_sections.items() if fetch.mode is not None}
    if set(MODES).issuperset(named.values()):
        return []  # finding what is installed takes milliseconds
    known = fetch_modes()
    return [
        Problem(
            f"{path}.mode",
            f"{format_value(mode)} is not one of {', '.join(known)}",
            did_you_mean(near) if (near := nearest(mode, known)) else "",
        )
        for path, mode in named.items()
        if mode not in known
    ]


def page_prefix(task: Task, name: str) -> str:
    """Return the prefix of a page type's keys: empty, or `pages.NAME.`."""
    return f"pages.{name}." if name in task.pages else ""


def _default_page(task: Task) -> Iterator[Problem]:
    has_top = task.selectors != Selectors() or task.follow or task.pagination or not task.emit
    if DEFAULT_PAGE in task.pages and has_top:
        reason = "the page type 'default' is defined twice: here and by the top-level keys"
        yield Problem("pages.default", reason, "keep the top-level selectors, follow and pagination, or this")


def _has_default(task: Task) -> bool:
    types = task.page_types
    return DEFAULT_PAGE in task.pages or not task.pages or not types[DEFAULT_PAGE].is_empty


def _entry_pages(task: Task) -> Iterator[Problem]:
    types, has_default = task.page_types, _has_default(task)
    for index, entry in enumerate(task.entry_urls):
        page = DEFAULT_PAGE if isinstance(entry, str) else entry.page
        if page not in types:
            yield _unknown(f"entry_urls[{index}].page", "page type", page, list(types))
        elif page == DEFAULT_PAGE and not has_default:
            reason = "the entry has page type 'default', which extracts and follows nothing"
            hint = "write it as {url, page}; page types: " + ", ".join(task.pages)
            yield Problem(f"entry_urls[{index}]", reason, hint)


def _sitemaps(task: Task) -> Iterator[Problem]:
    if task.sitemaps is True and not _has_default(task):
        reason = "pages of the sitemaps have page type 'default', which extracts and follows nothing"
        yield Problem("sitemaps", reason, "write them as [{url, page}]; page types: " + ", ".join(task.pages))
    seen: set[str] = set()
    for index, sitemap in enumerate([] if isinstance(task.sitemaps, bool) else task.sitemaps):
        path = f"sitemaps[{index}]"
        url, page = (sitemap, DEFAULT_PAGE) if isinstance(sitemap, str) else (sitemap.url, sitemap.page)
        if url in seen:
            yield Problem(path, f"{url} is listed twice", "a request is fetched once in a run")
        seen.add(url)
        if page not in task.page_types:
            yield _unknown(f"{path}.page", "page type", page, list(task.page_types))
        elif page == DEFAULT_PAGE and not _has_default(task):
            reason = "its pages have page type 'default', which extracts and follows nothing"
            yield Problem(path, reason, "write it as {url, page}; page types: " + ", ".join(task.pages))


def _page_problems(task: Task) -> Iterator[Problem]:
    types = task.page_types
    for name, page in types.items():
        prefix = page_prefix(task, name)
        if name.startswith(OWN_PAGE):
            yield Problem(f"pages.{name}", f"the name of a page type starts with {OWN_PAGE!r}", "remove it")
        if "\0" in name:
            yield Problem(f"pages.{name}", "the name of a page type contains a NUL character", "remove it")
        for index, follow in enumerate(page.follow):
            if follow.to is not None and follow.to not in types:
                yield _unknown(f"{prefix}follow[{index}].to", "page type", follow.to, list(types))
            yield from _carry_problems(f"{prefix}follow[{index}]", follow, page, task)
        yield from _stop_problems(f"{prefix}pagination.stop_when", page, task)
        items = page.selectors.items
        for rule in items if isinstance(items, list) else [items]:
            if isinstance(rule, Rule) and rule.type in ("const", "meta"):
                reason = f"a {rule.type} rule matches no elements"
                yield Problem(f"{prefix}selectors.items", reason, "remove items: the page is one item")


def _carry_problems(path: str, follow: Follow, page: PageType, task: Task) -> Iterator[Problem]:
    """Find fields in `carry` or in templates that the page type does not have."""
    fields = list(page.selectors.fields)
    for index, name in enumerate(follow.carry):
        if name not in fields:
            yield _unknown(f"{path}.carry[{index}]", "field", name, fields)
    known = ["value", *fields, *task.variables]
    for name in placeholders_in(follow.request.url if follow.request else None):
        if name.partition(".")[0] not in known and name not in known:
            yield _unknown(f"{path}.request.url", "field or variable", name, known)


def _stop_problems(path: str, page: PageType, task: Task) -> Iterator[Problem]:
    if page.pagination is None:
        return
    stop_when = page.pagination.stop_when
    is_unique = any(step == "unique" or getattr(step, "use", "") == "unique" for step in task.pipeline)
    if stop_when.seen and task.dedup.items is None and not is_unique:
        reason = "'seen' requires that items are compared"
        yield Problem(f"{path}.seen", reason, "set dedup.items to 'content' or to a list of fields")
    if stop_when.seen and not page.emit:
        yield Problem(f"{path}.seen", "the page type stores no items to compare", "remove it")
    known = [*page.selectors.fields, *_step_fields(task)]
    if stop_when.older_than is not None and stop_when.older_than.field not in known:
        yield _unknown(f"{path}.older_than.field", "field", stop_when.older_than.field, known)


def _step_fields(task: Task) -> Iterator[str]:
    """Yield the fields that pipeline steps may create."""
    for step in task.pipeline:
        if not isinstance(step, str):
            yield from step.fields or ()
            to = (step.model_extra or {}).get("to")
            yield from [to] if isinstance(to, str) else map(str, to.values()) if isinstance(to, dict) else ()


def _layer_pages(task: Task) -> Iterator[Problem]:
    for index, layer in enumerate(task.layers):
        for place, name in enumerate(layer.pages or ()):
            if name not in task.page_types:
                yield _unknown(f"layers[{index}].pages[{place}]", "page type", name, list(task.page_types))


def _field_names(task: Task) -> Iterator[Problem]:
    fields = [name for page in task.page_types.values() for name in page.selectors.fields]
    known = list(dict.fromkeys([*fields, *_step_fields(task)]))
    named = {
        "dedup.items": task.dedup.items,
        "dedup.update": task.dedup.update,
        "alerts.empty_fields": task.alerts.empty_fields if task.alerts else None,
    }
    for path, names in named.items():
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if name not in known:
                yield _unknown(f"{path}[{index}]", "field", name, known)


def _item_dedup(task: Task) -> Iterator[Problem]:
    if task.dedup.update and task.dedup.keep == "last":
        reason = "with keep 'last' there is nothing to update"
        yield Problem("dedup.update", reason, "remove it, or keep the first")


def _intervals(task: Task) -> Iterator[Problem]:
    bounds = task.recrawl.adaptive
    if isinstance(bounds, Adaptive) and duration_s(bounds.min) > duration_s(bounds.max):
        reason = f"min ({bounds.min}) is longer than max ({bounds.max})"
        yield Problem("recrawl.adaptive.min", reason, "a duration that is not longer than max")


def _unknown(path: str, what: str, name: str, known: list[str]) -> Problem:
    near = nearest(name, known)
    hint = did_you_mean(near) if near else f"known: {', '.join(known)}" if known else ""
    return Problem(path, f"there is no {what} {name!r}", hint)


def _cookie_headers(task: Task) -> Iterator[Problem]:
    if not task.use_cookie and task.cookie_id is None:
        return
    key = "use_cookie" if task.cookie_id is None else "cookie_id"
    own = [(f"{path}.headers", fetch.headers) for path, fetch in task.fetch_sections.items()]
    entries = [(f"entry_urls[{index}].headers", entry) for index, entry in enumerate(task.entry_urls)]
    own += [(path, entry.headers) for path, entry in entries if isinstance(entry, EntryOptions)]
    for path, headers in own:
        for name in headers:
            if name.lower() == "cookie":
                reason = f"a Cookie header of the task beside {key}"
                yield Problem(f"{path}.{name}", reason, f"remove one: {key} sends those of the vault")


def _schedule(task: Task) -> Iterator[Problem]:
    if isinstance(task.schedule, Schedule):
        yield from find_schedule_problems(task.schedule, "schedule.")


LOSSY = (
    "on a cluster a Bloom filter mistakes some new URLs for known ones, fewer than one in 10,000 (0.01 %),"
    " and their pages are missed"
)


def find_cautions(task: Task) -> list[Problem]:
    """Return a warning for each key whose effect the owner should know."""
    lossy = (
        [Problem("dedup.urls", LOSSY, "remove the key to miss none")] if task.dedup.urls == "bloom" else []
    )
    return [*lossy, *_alike_letters(task), *_items_without_fields(task), *_repeated_urls(task)]


_ALIKE = ("LATIN", "CYRILLIC", "GREEK")
"""Scripts with letters that look the same."""


def _alike_letters(task: Task) -> Iterator[Problem]:
    """Find a word of the name with letters of two scripts: it looks like another name."""
    for word in re.findall(r"[^\W\d_]+", task.name):
        names = {unicodedata.name(char, ""): char for char in word}
        scripts = {name.partition(" ")[0] for name in names} & {*_ALIKE}
        if len(scripts) > 1:
            name = next(name for name in names if not name.startswith("LATIN") and name.startswith(_ALIKE))
            reason = f"{word!r} mixes letters of scripts that look alike: {names[name]!r} is {name}"
            yield Problem("name", reason, "write the name in one script")


def _items_without_fields(task: Task) -> Iterator[Problem]:
    for name, page in task.page_types.items():
        if page.selectors.items is not None and not page.selectors.fields:
            reason = "items without fields give no rows"
            yield Problem(f"{page_prefix(task, name)}selectors.items", reason, "add selectors.fields")


def _repeated_urls(task: Task) -> Iterator[Problem]:
    for index, entry in enumerate(task.entry_urls):
        if not isinstance(entry, EntryList):
            continue
        rows = set(zip(entry.urls, *entry.values.values(), strict=True))  # other values make other requests
        if count := len(entry.urls) - len(rows):
            reason = f"{count:,} of {len(entry.urls):,} URLs repeat an earlier one; each is fetched once"
            yield Problem(f"entry_urls[{index}]", reason)


Finder = Callable[[Task], Iterable[str]]
"""Returns the paths of the keys that use a feature."""


def find_missing(task: Task) -> list[Problem]:
    """Return a problem for each key that uses an unsupported feature."""
    return [
        Problem(path, f"{capability} not supported yet", _instead(path))
        for capability, find in NOT_BUILT
        for path in find(task)
    ]


def _instead(path: str) -> str:
    """Return what works today in place of an unsupported key."""
    return WORKS_TODAY.get(path.rpartition(".")[2], "remove the key to run the rest of the task")


def require_supported(task: Task) -> None:
    """Raise `NotBuilt`, naming every key that uses an unsupported feature."""
    problems = find_missing(task)
    if problems:
        listed = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise NotBuilt(f"this version cannot run the task: {listed}", hint=problems[0].hint)


def _is_set(path: str) -> Finder:
    """Find a key that is set to something other than its default."""

    def find(task: Task) -> Iterator[str]:
        section: Any = task
        *above, last = path.split(".")
        for name in above:
            section = getattr(section, name)
        if (
            isinstance(section, Section)
            and getattr(section, last) != type(section).model_fields[last].default
        ):
            yield path

    return find


def _pagination(kind: str) -> Finder:
    """Find paginations of a kind."""

    def find(task: Task) -> Iterator[str]:
        for name, page in task.page_types.items():
            if page.pagination is not None and page.pagination.type == kind:
                yield f"{page_prefix(task, name)}pagination.type"

    return find


def _transport(task: Task) -> Iterator[str]:
    """Find a `fetch.mode` without an installed transport."""
    for path, fetch in task.fetch_sections.items():
        if fetch.mode is not None and not registry.is_known(TRANSPORT, fetch.mode):
            yield f"{path}.mode"


def _is_in_fetch(key: str) -> Finder:
    """Find a key that is set in `fetch`, or in that of a page type."""

    def find(task: Task) -> Iterator[str]:
        for path, fetch in task.fetch_sections.items():
            if getattr(fetch, key) != type(fetch).model_fields[key].default:
                yield f"{path}.{key}"

    return find


NOT_BUILT: tuple[tuple[str, Finder], ...] = (
    ("pagination by scrolling is", _pagination("scroll")),
    ("fetching by this mode is", _transport),
    ("waiting for an element is", _is_in_fetch("wait_for")),
    ("actions on a page are", _is_in_fetch("actions")),
    ("sinks besides the result store are", _is_set("sinks")),
    ("alerts on empty fields are", _is_set("alerts.empty_fields")),
    ("the WARC archive is", _is_set("archive.warc")),
    ("account pools are", _is_set("account_pool")),
)
