"""The places where HTML5 parsing builds another tree than libxml2, by name: the list in docs/parity.md.

A difference between two answers is explained when parsel gives ours on the HTML5 tree, and when all that
differs between the two trees of the page has one of these names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from parsel import Selector

REASONS = {
    "tbody": "rows of a table always stand in a tbody",
    "table": "what cannot stand in a table is moved before it, stray cells and rows get or lose their frame",
    "paragraph": "a block ends an open p; a stray end tag makes an empty one",
    "formatting": "formatting and links that were left open are opened again where they belong",
    "frame": "html, head and body are always there; things are moved into them; repeated ones are merged",
    "newline": "the first line break in pre and textarea is not part of the text",
    "template": "the content of a template is not part of the page",
    "noscript": "noscript holds elements, or nothing in head",
    "foreign": "svg and math keep the case of their names and end at HTML tags",
    "form": "forms do not nest; select holds options only",
    "list": "list items, terms and headings end each other by the standard's rules",
    "text only": "iframe, noembed, xmp and the like hold text",
    "comment": "what is no tag and no text is a comment, or nothing",
    "nesting": "an end tag ends what the standard says it ends",
}

_FORMATTING = frozenset("a b big code em font i nobr s small strike strong tt u".split())
_TABLE = frozenset("table thead tfoot tr td th caption col colgroup".split())
_FRAME = frozenset("html head body title meta link base script style frameset frame".split())
_LISTS = frozenset("li dt dd ul ol dl h1 h2 h3 h4 h5 h6".split())
_FORMS = frozenset("form select option optgroup input button fieldset label".split())
_TEXTS = frozenset("iframe noembed noframes xmp plaintext textarea".split())
_FOREIGN = frozenset("svg math".split())
_BLOCKS = frozenset(
    "div section article center pre hr span img br address blockquote main nav p header footer".split()
)

_HTML = _FORMATTING | _TABLE | _FRAME | _LISTS | _FORMS | _TEXTS | _FOREIGN | _BLOCKS | {"tbody", ""}


def reasons(ours: Selector, theirs: Selector) -> set[str]:
    """The names of all differences between two trees; `other: ...` for one without a name."""
    found: set[str] = set()
    mine, other = _shape(ours.root), _shape(theirs.root)
    for kind, parent, tag in (mine - other) + (other - mine):
        found.add(_reason(kind, parent, tag))
    return found


def _shape(root: Any) -> Counter[tuple[str, str, str]]:
    """Count the parents of elements and the texts of a tree."""
    shape: Counter[tuple[str, str, str]] = Counter()
    for element in root.iter():
        if not isinstance(element.tag, str):
            shape["comment", "", ""] += 1
            continue
        parent = element.getparent()
        shape["element", "" if parent is None else str(parent.tag), element.tag] += 1
        for text in (element.text, *(child.tail for child in element)):
            if text:
                shape["text", element.tag, text] += 1
    return shape


def _reason(kind: str, parent: str, tag: str) -> str:
    if kind == "comment":
        return "comment"
    where = {parent, tag} if kind == "element" else {parent}
    for name, tags in (
        ("template", frozenset({"template"})),
        ("noscript", frozenset({"noscript"})),
        ("foreign", _FOREIGN),
        ("tbody", frozenset({"tbody"})),
        ("text only", _TEXTS),
        ("newline", frozenset({"pre", "listing"}) if kind == "text" else frozenset()),
        ("paragraph", frozenset({"p"})),
        ("formatting", _FORMATTING),
        ("form", _FORMS),
        ("table", _TABLE),
        ("list", _LISTS),
        ("frame", _FRAME),
        ("nesting", _BLOCKS),
    ):
        if where & tags:
            return name
    if not where <= _HTML:
        return "nesting"  # a name that HTML does not know
    return f"other: {kind} {tag!r} in {parent!r}"
