"""Find the link to the next page of a list, or the page number in the query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from selectolax.lexbor import SelectolaxError

from smartspider.suggest.html.class_names import is_stable, split_words
from smartspider.suggest.html.selectors import name_selectors, quote_css
from smartspider.suggest.html.tree import Element, Tree

_NEXT_TEXT = re.compile(
    r"(?:go to )?(?:the )?next(?: page| results)?|older(?: posts| entries)?|[\u203a\u00bb\u2192>]{1,2}|"
    r"下一?[页頁]|[后後]一?[页頁]|次へ|次のページ|다음|weiter|nächste(?: seite)?|suivante?|page suivante|"
    r"siguiente|próxim[ao]|successiv[ao]|volgende|næste|nästa|następna(?: strona)?|"
    r"dalej|дальше|вперёд|следующая",
    re.IGNORECASE,
)
_ARROWS = " \u203a\u00bb\u2192>\u2039\u00ab\u2190<\u00a0.\u2026"
_NEXT_WORDS = frozenset(("next", "nxt", "older", "pnnext", "nextpage", "forward"))
_PAGER_WORDS = frozenset(
    "pagination pager paging pages page pg paginator pagenav pagebar wp pagenavi".split()
)
_MOST_LINKS = 3000
_LEAST = 3


def find_pagination(tree: Tree, url: str) -> dict[str, Any] | None:
    """Return the pagination of a page in task form; None if it is unknown."""
    if any(
        urljoin(url, node.attributes.get("href") or "") != url
        for node in tree.find('link[rel~="next"][href]')
    ):
        return {"type": "next_link", "selector": 'link[rel~="next"]'}
    links = [element for element in tree.elements if element.tag == "a"]
    if len(links) > 2 * _MOST_LINKS:
        links = links[:_MOST_LINKS] + links[-_MOST_LINKS:]
    rated = [(rating, -link.order, link) for link in links if (rating := _rating(tree, link)) >= _LEAST]
    for _, _, link in sorted(rated, key=lambda one: one[:2], reverse=True)[:5]:
        if not _is_other_page(link, url):
            continue
        selector = next((css for css in _candidates(tree, link) if _is_first(tree, css, link)), None)
        if selector is not None:
            return {"type": "next_link", "selector": selector}
    return _by_numbers(tree, links, url)


def _is_other_page(link: Element, url: str) -> bool:
    href = link.attrs.get("href", "").strip()
    if not href or href.startswith(("#", "javascript:", "mailto:", "tel:")):
        return False
    target = urljoin(url, href).partition("#")[0]
    return target != url.partition("#")[0] and urlsplit(target).hostname == urlsplit(url).hostname


def _rating(tree: Tree, link: Element) -> int:
    """Rate how likely a link is the next page."""
    words = _words(link)
    if {"prev", "previous", "disabled"} & words or "prev" in link.attrs.get("rel", ""):
        return 0
    rating = 0
    if "next" in link.attrs.get("rel", "").lower().split():
        rating += 5
    said = [tree.text(link, 40), link.attrs.get("aria-label", ""), link.attrs.get("title", "")]
    if any(_is_next_text(text) for text in said):
        rating += 3
    around = link.parent
    if words & _NEXT_WORDS or (
        around is not None and len(around.children) == 1 and _words(around) & _NEXT_WORDS
    ):
        rating += 3
    if rating and _pager_of(link) is not None:
        rating += 1
    return rating or 0


def _is_next_text(text: str) -> bool:
    text = text.strip()
    return bool(text) and bool(_NEXT_TEXT.fullmatch(text) or _NEXT_TEXT.fullmatch(text.strip(_ARROWS) or "-"))


def _words(element: Element) -> set[str]:
    names = (*element.classes, element.attrs.get("id", ""))
    return {word for name in names for word in split_words(name)}


def _pager_of(link: Element) -> Element | None:
    for number, above in enumerate(link.ancestors()):
        if number > 3:
            return None
        if _words(above) & _PAGER_WORDS or "pag" in above.attrs.get("aria-label", "").lower():
            return above
    return None


def _candidates(tree: Tree, link: Element) -> Iterator[str]:
    """Yield selectors of a next link, most stable first."""
    if "next" in link.attrs.get("rel", "").lower().split():
        yield 'a[rel~="next"]'
    for name in ("aria-label", "title"):
        if _is_next_text(link.attrs.get(name, "")):
            yield f"a[{name}={quote_css(link.attrs[name])}]"
    if _words(link) & _NEXT_WORDS:
        yield from name_selectors(link)
        identity = link.attrs.get("id", "")
        if re.fullmatch(r"[A-Za-z][\w-]*", identity, re.ASCII):
            yield f"a#{identity}"
    above = link.parent
    if above is not None and _words(above) & _NEXT_WORDS:
        yield from (f"{name} > a" for name in name_selectors(above))
        yield from (f"{above.tag}.{name} > a" for name in above.classes if is_stable(name) or name == "next")
    own = next((text for text in link.own if _is_next_text(text)), None)
    inner = [child for child in tree.inside(link) if any(map(_is_next_text, child.own))]
    pager = _pager_of(link)
    places = [f"{name} " for name in (name_selectors(pager) if pager is not None else ())]
    for place in [*places, ""]:
        if own is not None:
            yield f"{place}a:lexbor-contains({quote_css(own)})"
        for child in inner:
            yield f"{place}a:has({child.tag}:lexbor-contains({quote_css(child.own[0])}))"


def _is_first(tree: Tree, css: str, link: Element) -> bool:
    try:
        found = tree.find(css)
    except SelectolaxError:
        return False
    # Pagers above and below the list may both have the link.
    same = link.attrs.get("href")
    return bool(found) and all(node.attributes.get("href") == same for node in found)


def _by_numbers(tree: Tree, links: list[Element], url: str) -> dict[str, Any] | None:
    """Read a pager that has only numbers: by its parameter."""
    pages: dict[int, dict[str, str]] = {}
    for link in links:
        text = tree.text(link, 8)
        if text.isascii() and text.isdigit() and 1 < int(text) <= 10_000 and _is_other_page(link, url):
            pages.setdefault(int(text), dict(parse_qsl(urlsplit(urljoin(url, link.attrs["href"])).query)))
    if 2 not in pages or len(pages) < 2:
        return None
    other = next(number for number in sorted(pages) if number > 2)
    for name, value in pages[2].items():
        then = pages[other].get(name, "")
        if not (value.isdecimal() and then.isdecimal()) or value == then:
            continue
        step, rest = divmod(int(then) - int(value), other - 2)
        if rest or step <= 0:
            continue
        if step == 1:
            return {"type": "page_param", "param": name, "start": int(value)}
        if int(value) == step:
            return {"type": "offset", "param": name, "size": step}
        return {"type": "page_param", "param": name, "start": int(value), "step": step}
    return None
