"""Read pagers that have only page numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from selectolax.lexbor import SelectolaxError

from smartspider.core.requests.bodies import with_url_param
from smartspider.core.requests.urls import canonical_url, normal_url
from smartspider.suggest.html.class_names import is_stable, is_utility
from smartspider.suggest.html.selector_names import name_selectors
from smartspider.suggest.html.tree import Element, Tree

_MOST_PAGES = 100_000
_LONGEST_TEXT = 200
"""The most characters of a link that are read, white space in the source included."""
_PAGE_WORDS = re.compile(
    r"^(?:current page|page courante|page|página|pagina|seite|sida|side|sivu|strona|stránka|oldal|sayfa|"
    r"страница|сторінка|第)\s*(?=\d)|(?<=\d)\s*(?:页|頁|ページ)$",
    re.IGNORECASE,
)
"""Words around the number of a page, often for screen readers only."""
_AROUND = " []()|<>\u00a0"
_PAGE_PARAM = re.compile(r"page|seite|pagina|(?:^|_)pg?$", re.IGNORECASE)
_CURRENT_TAGS = frozenset(("strong", "b", "span", "em", "font", "li", "a", "td", "u", "i", "p", "div"))


def by_numbers(tree: Tree, links: list[Element], url: str) -> list[dict[str, Any]]:
    """Return paginations for a pager of numbers: by its parameter, or by the link after the current page."""
    pages: dict[int, Element] = {}
    for link in links:
        number = _number(tree.text(link, _LONGEST_TEXT))
        if number is not None:
            pages.setdefault(number, link)
    if not pages:
        return []
    current = _current(pages, url)
    after = pages.get(current + 1)
    if after is None:
        return []
    exact, loose = _by_parameter(pages, current, url)
    beside = _after_plain_number(after, str(current)) or _after_plain_member(tree, after, str(current))
    found = [exact, _by_current(tree, after, current), loose, beside]
    return [one for one in found if one is not None]


def _number(text: str) -> int | None:
    text = _PAGE_WORDS.sub("", text.strip(" []()\u00a0"))
    is_number = text.isascii() and text.isdigit() and not text.startswith("0") and len(text) < 7
    return int(text) if is_number and int(text) < _MOST_PAGES else None


def _current(pages: dict[int, Element], url: str) -> int:
    """Return the number of the page itself: the one that is linked to it, or not linked."""
    here = _canonical(url, url)
    for number, link in pages.items():
        if _canonical(link.attrs["href"], url) == here:
            return number
    for before, after in pairwise(sorted(pages)):
        if after == before + 2:
            return before + 1
    return max(1, min(pages) - 1)


def _by_parameter(
    pages: dict[int, Element], current: int, url: str
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the parameter that counts the pages: first if nothing else changes, second if more does."""
    targets = {number: urljoin(url, link.attrs["href"]) for number, link in pages.items() if number > current}
    queries = {number: dict(parse_qsl(urlsplit(target).query)) for number, target in targets.items()}
    for name, value in queries[current + 1].items():
        others = [(n, q[name]) for n, q in queries.items() if n > current + 1 and q.get(name, "").isdecimal()]
        if not value.isdecimal() or not others:
            continue
        other, then = others[0]
        step, rest = divmod(int(then) - int(value), other - current - 1)
        if rest or step <= 0:
            continue
        found = _in_task_form(name, int(value), step)
        built = _canonical(with_url_param(url, name, value), url)
        return (found, None) if built == _canonical(targets[current + 1], url) else (None, found)
    return None, None


def _canonical(href: str, url: str) -> str:
    normal = normal_url(href, url)
    return href if normal is None else canonical_url(normal)


def _in_task_form(name: str, value: int, step: int) -> dict[str, Any]:
    if step == 1:
        return {"type": "page_param", "param": name, "start": value}
    if value == step:
        return {"type": "offset", "param": name, "size": step}
    return {"type": "page_param", "param": name, "start": value, "step": step}


def _by_current(tree: Tree, after: Element, current: int) -> dict[str, Any] | None:
    """Return the link after the current page, found by what marks the current page."""
    for css in _after_current(tree, after, str(current)):
        try:
            found = tree.find(css)
        except SelectolaxError:
            continue
        if found and found[0].attributes.get("href") == after.attrs["href"]:
            return {"type": "next_link", "selector": css}
    return None


def _after_plain_number(after: Element, current: str) -> dict[str, Any] | None:
    """Return the link after a number that is no element, as in `1 <a>2</a>`; CSS does not see such texts."""
    pager = after.parent
    if pager is None or not any(text.strip(" []()|\u00a0") == current for text in pager.own):
        return None
    name = next((name for name in pager.classes if is_stable(name)), None)
    identity = pager.attrs.get("id", "")
    place = f"[has-class('{name}')]" if name else f"[@id='{identity}']" if identity else ""
    plain = "text()[number(translate(., '[]()|\u00a0', '')) > 0]"
    selector = f"//{pager.tag}{place}/{plain}/following-sibling::a[1]"
    return {"type": "next_link", "selector": selector, "language": "xpath"}


def _after_plain_member(tree: Tree, after: Element, current: str) -> dict[str, Any] | None:
    """Return the link after a cell or list entry with a number and no link, if nothing else marks it."""
    member = after.parent
    siblings = [] if member is None or member.parent is None else member.parent.children
    place = siblings.index(member) if member in siblings else 0
    before = siblings[place - 1] if place else None
    if member is None or before is None or before.tag != member.tag or _page_text(tree, before) != current:
        return None
    number = f"number(translate(normalize-space(.), '{_AROUND}', '')) > 0"
    selector = f"//{before.tag}[not(.//a)][{number}]/following-sibling::{member.tag}[1]/a[{number}]"
    return {"type": "next_link", "selector": selector, "language": "xpath"}


def _page_text(tree: Tree, element: Element) -> str:
    """Return the number of a page without what is around it."""
    return _PAGE_WORDS.sub("", tree.text(element, _LONGEST_TEXT).strip(_AROUND))


def by_address(links: list[Element], url: str) -> list[Element]:
    """Return links to this page with a parameter for the second page: `?q=a&pageItems=2`."""
    here = dict(parse_qsl(urlsplit(url).query))
    if any(_PAGE_PARAM.search(name) for name in here):
        return []
    return [link for link in links if _is_second_page(urljoin(url, link.attrs["href"]), here, url)][:2]


def _is_second_page(target: str, here: dict[str, str], url: str) -> bool:
    there = dict(parse_qsl(urlsplit(target).query))
    added = list(there.items() - here.items())
    is_same = urlsplit(target).path == urlsplit(url).path and len(there) == len(here) + 1
    return is_same and len(added) == 1 and added[0][1] == "2" and bool(_PAGE_PARAM.search(added[0][0]))


def _after_current(tree: Tree, after: Element, current: str) -> Iterator[str]:
    """Yield selectors: the marked number, then `+ a`, or its list entry, then `+ li > a`."""
    member, tail = after, "a"
    for _ in range(3):
        siblings = [] if member.parent is None else member.parent.children
        place = siblings.index(member) if member in siblings else 0
        before = _nearest_text(tree, siblings[:place])
        if before is not None and _page_text(tree, before) == current:
            beside = "+" if before is siblings[place - 1] else "~"
            for mark in _marks(before):
                for pager in [*_places(member), ""]:
                    yield f"{pager}{mark} {beside} {tail}"
            return
        if member.parent is None:
            return
        tail = f"{member.parent.tag} > {tail}" if member is not after else f"{member.parent.tag} > a"
        member = member.parent


def _nearest_text(tree: Tree, siblings: list[Element]) -> Element | None:
    """Return the nearest sibling that is more than a separator."""
    texts = (one for one in reversed(siblings) if any(map(str.isalnum, tree.text(one, 20))))
    return next(texts, None)


def _marks(before: Element) -> Iterator[str]:
    """Yield selectors for the element of the current page."""
    if "aria-current" in before.attrs:
        yield f"{before.tag}[aria-current]"
    for name in before.classes:
        if not is_utility(name):
            yield f"{before.tag}.{name}"
    for inner in before.children[:1]:
        if "aria-current" in inner.attrs:
            yield f"{before.tag}:has(> {inner.tag}[aria-current])"
        for name in inner.classes:
            yield f"{before.tag}:has(> {inner.tag}.{name})"
        if inner.tag != "a":
            yield f"{before.tag}:has(> {inner.tag})"
    if before.tag in _CURRENT_TAGS - {"a", "li", "td", "div", "p"}:
        yield before.tag


def _places(member: Element) -> list[str]:
    above = member.parent
    names: list[str] = []
    for _ in range(3):
        if above is None:
            break
        names += [f"{name} " for name in name_selectors(above)]
        above = above.parent
    return names
