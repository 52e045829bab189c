"""Compound selectors that name an element, most stable first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from smartspider.suggest.html.class_names import is_stable, module_stem
from smartspider.suggest.html.tree import Element

NAME = re.compile(r"-?[A-Za-z_][\w-]*", re.ASCII)
"""A class name, id or attribute that needs no escapes."""
SEMANTIC = frozenset(
    "h1 h2 h3 h4 h5 h6 time img address article figure figcaption main table tbody ul ol dl dt dd cite a "
    "picture blockquote section".split()
)
"""Tags that say what an element is."""
TELLING_ATTRS = (
    "itemprop", "data-testid", "data-test", "data-qa", "data-role", "data-field", "data-mark", "data-name",
)  # fmt: skip
"""Attributes that name what an element holds."""


def quote_css(text: str) -> str:
    """Quote a text as a CSS string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_selectors(element: Element) -> Iterator[str]:
    """Yield compound selectors that name an element, most stable first."""
    for name in TELLING_ATTRS:
        value = element.attrs.get(name)
        if value and len(value) < 40 and not any(character.isdigit() for character in value):
            yield (
                f"{element.tag}[{name}={quote_css(value)}]"
                if name != "itemprop"
                else f"[itemprop={quote_css(value)}]"
            )
    for name in element.classes:
        if is_stable(name) and NAME.fullmatch(name):
            yield f"{element.tag}.{name}" if element.tag not in {"div", "span"} else f".{name}"
    for name in element.classes:
        stem = module_stem(name)
        if stem is not None:
            yield f"{element.tag}[class*={quote_css(stem)}]"


def id_selectors(element: Element) -> Iterator[str]:
    """Yield the id of an element, unless it looks like a number."""
    name = element.attrs.get("id", "")
    if NAME.fullmatch(name) and not re.search(r"\d{2,}", name):
        yield f"#{name}"


def generated_selectors(element: Element) -> Iterator[str]:
    """Yield compound selectors by generated class names."""
    for name in element.classes:
        if NAME.fullmatch(name) and not is_stable(name):
            yield f"{element.tag}.{name}"


def shared_selectors(items: list[Element], of: Callable[[Element], Iterable[str]]) -> list[str]:
    """Return the compound selectors that all elements share."""
    shared = list(of(items[0]))
    for item in items[1:]:
        have = set(of(item))
        shared = [name for name in shared if name in have]
        if not shared:
            break
    return shared
