"""Find links that may lead to the next page of a list. Only a fetch tells whether they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import SelectolaxError

from smartspider.suggest.html.class_names import is_stable, split_words
from smartspider.suggest.html.page_numbers import by_address, by_numbers
from smartspider.suggest.html.selector_names import name_selectors, quote_css
from smartspider.suggest.html.tree import Element, Tree

MAX_CANDIDATES = 4
_NEXT_TEXT = re.compile(
    r"(?:go to )?(?:the )?next(?: page| results| \d+)?|"
    r"(?:view |see )?older(?: posts| entries| articles| news)?|"
    r"previous (?:posts|entries)|[\u203a\u00bb\u2192\u27e9\u3009\u300b\u276f\u25b6\u25ba\u2b95>]{1,3}|"
    r"下一?[页頁]|[后後]一?[页頁]|次へ|次のページ|다음(?: 페이지)?|weiter|vor|nächste(?: seite)?|suivante?s?|"
    r"page suivante|(?:p[aá]g(?:ina|\.)? )?siguientes?|próxim[ao]s?(?: página)?|seguinte|successiv[ao]|"
    r"avanti|pagina successiva|volgende(?: pagina)?|næste|neste|nästa|seuraava|następn[ay](?: strona)?|dalej|"
    r"дальше|далее|вперёд|вперед|следующая(?: страница)?|наступна|επόμενη?|επόμενο|sonraki|další|ďalší|"
    r"következő|următoare[a]?|înainte|berikutnya|selanjutnya|tiếp(?: theo)?|sau|trang sau|التالي|הבא|ถัดไป|"
    r"παλαιότερες αναρτήσεις|ältere (?:beiträge|posts)|entradas antiguas|articles plus anciens|"
    r"post(?: più)? vecchi|entradas siguientes|starsze posty",
    re.IGNORECASE,
)
_MORE_TEXT = re.compile(
    r"(?:load |show |view |see )?more(?: results| posts| items| news| articles)?|"
    r"mehr(?: anzeigen| laden)?|voir plus|ver más|更多|もっと見る|加载更多",
    re.IGNORECASE,
)
_ARROWS = " \u203a\u00bb\u2192>\u2039\u00ab\u2190<\u00a0.\u2026\u27e9\u276f\u25b6\u25ba|[]()"
_NEXT_WORDS = frozenset(("next", "nxt", "older", "pnnext", "nextpage", "forward", "nextlink", "morelink"))
_BACK_WORDS = frozenset(("prev", "previous", "disabled", "newer", "back"))
_PAGER_WORDS = frozenset(
    "pagination pager paging pages page pg paginator pagenav pagebar wp pagenavi navigation nav".split()
)
_CALENDAR_WORDS = frozenset("calendar cal datepicker kalender calendario calendrier month months".split())
_OTHER_NEXT = re.compile(
    r"\bnext (?:day|week|weekend|month|year|season|chapter|section|article|story|issue|episode|event|match|"
    r"round|lesson|topic|thread|photo|image|slide|video|song|track|question|entry|fixture|fixtures|release|"
    r"version|module)\b",
    re.IGNORECASE,
)
"""Other things that can be next."""
_TODAY = re.compile(r"today|this (?:week|month)|heute|aujourd'hui|hoy|oggi|hoje|今天|今日", re.IGNORECASE)
_MOST_LINKS = 3000
_LEAST = 2


def find_paginations(tree: Tree, url: str) -> list[dict[str, Any]]:
    """Return paginations in task form that may continue the list of a page, likeliest first."""
    links = [element for element in tree.elements if element.tag == "a" and "href" in element.attrs]
    if len(links) > 2 * _MOST_LINKS:
        links = links[:_MOST_LINKS] + links[-_MOST_LINKS:]
    links = [link for link in links if _is_other_page(link, url) and not _is_in_calendar(link)]
    links = [link for link in links if not _is_beside_today(tree, link)]
    rated = sorted(((-_rating(tree, link), link.order, link) for link in links), key=lambda one: one[:2])
    strong = [link for rating, _, link in rated if -rating > _LEAST]
    weak = [link for rating, _, link in rated if -rating == _LEAST]
    found = [pagination for link in strong if (pagination := _by_link(tree, link)) is not None]
    found += _in_head(tree, url)
    found += by_numbers(tree, links, url)
    weak = [*weak[:2], *by_address(links, url)]
    found += [pagination for link in weak if (pagination := _by_link(tree, link)) is not None]
    return [one for number, one in enumerate(found) if one not in found[:number]][:MAX_CANDIDATES]


def _is_beside_today(tree: Tree, link: Element) -> bool:
    """Return True for the arrows of a calendar: one of the links beside is today."""
    around = link.parent
    siblings = [] if around is None else around.children[:12]
    return any(_TODAY.fullmatch(tree.text(one, 30)) for one in siblings)


def _is_in_calendar(link: Element) -> bool:
    """Return True for the days and months of a calendar."""
    return any(
        _words(above) & _CALENDAR_WORDS and above.tag not in {"html", "body"}
        for number, above in enumerate(link.ancestors())
        if number < 8
    )


def _in_head(tree: Tree, url: str) -> list[dict[str, Any]]:
    nodes = tree.find('link[rel~="next"][href]')
    is_other = any(urljoin(url, node.attributes.get("href") or "") != url for node in nodes)
    return [{"type": "next_link", "selector": 'link[rel~="next"]'}] if is_other else []


def _by_link(tree: Tree, link: Element) -> dict[str, Any] | None:
    selector = next((css for css in _selectors(tree, link) if _is_first(tree, css, link)), None)
    return None if selector is None else {"type": "next_link", "selector": selector}


def _is_other_page(link: Element, url: str) -> bool:
    href = link.attrs.get("href", "").strip()
    if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")):
        return False
    target = urljoin(url, href).partition("#")[0]
    return target != url.partition("#")[0] and urlsplit(target).scheme in {"http", "https"}


def _rating(tree: Tree, link: Element) -> int:
    """Rate how likely a link is the next page."""
    words = _words(link)
    said = [*_texts(tree, link), link.attrs.get("aria-label", ""), link.attrs.get("title", "")]
    if any(_OTHER_NEXT.search(text) for text in said):
        return 0
    is_next_text = any(map(_is_next_text, said))
    if (words & _BACK_WORDS or "prev" in link.attrs.get("rel", "")) and not is_next_text:
        return 0
    rating = 5 if "next" in link.attrs.get("rel", "").lower().split() else 0
    if is_next_text:
        is_arrow = not any(character.isalpha() for text in said if _is_next_text(text) for character in text)
        rating += 2 if is_arrow else 3
    around = link.parent
    if words & _NEXT_WORDS or (
        around is not None and len(around.children) == 1 and _words(around) & _NEXT_WORDS
    ):
        rating += 3
    if not rating and any(_MORE_TEXT.fullmatch(text.strip(_ARROWS)) for text in said):
        rating = 2
    if "disabled" in words or (around is not None and "disabled" in _words(around)):
        return 0
    return rating + (1 if rating and _pager_of(link) is not None else 0)


def _texts(tree: Tree, link: Element) -> Iterator[str]:
    """Yield the text of a link and those of its images."""
    yield tree.text(link, 40)
    yield from (one.attrs.get("alt", "") for one in tree.inside(link)[:5] if one.tag == "img")


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


def _selectors(tree: Tree, link: Element) -> Iterator[str]:
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
    yield from _by_text(tree, link)


def _by_text(tree: Tree, link: Element) -> Iterator[str]:
    own = next((text for text in link.own if _says_next(text)), None)
    inner = [child for child in tree.inside(link) if any(map(_says_next, child.own))]
    images = [child for child in tree.inside(link) if _is_next_text(child.attrs.get("alt", ""))]
    pager = _pager_of(link)
    places = [f"{name} " for name in (name_selectors(pager) if pager is not None else ())]
    for place in [*places, ""]:
        if own is not None:
            yield f"{place}a:lexbor-contains({quote_css(own)})"
        for child in inner:
            yield f"{place}a:has({child.tag}:lexbor-contains({quote_css(child.own[0])}))"
        for image in images:
            yield f"{place}a:has(img[alt={quote_css(image.attrs['alt'])}])"
    yield from (name for name in name_selectors(link) if own is not None or inner)
    if link.own:
        yield f"a:lexbor-contains({quote_css(link.own[0])})"


def _says_next(text: str) -> bool:
    return _is_next_text(text) or _MORE_TEXT.fullmatch(text.strip(_ARROWS)) is not None


def _is_first(tree: Tree, css: str, link: Element) -> bool:
    try:
        found = tree.find(css)
    except SelectolaxError:
        return False
    # Pagers above and below the list may both have the link.
    same = link.attrs.get("href")
    return bool(found) and all(node.attributes.get("href") == same for node in found)
