"""The shape of a slot decides which of its texts are values: all of it, its parts, or those below it."""

from __future__ import annotations

from typing import Literal
from unicodedata import category

from smartspider.suggest.html.class_names import is_stable
from smartspider.suggest.html.fields.slots import Slot
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.text_kinds import classify_all

Shape = Literal["container", "parts", "text", "flow"]
"""`container`: no text of its own; `parts`: text of its own beside separate values; `text`: one text with
formatting; `flow`: a text of several blocks."""

FORMAT = frozenset(
    "b strong i em u mark sup sub small br wbr span font code abbr ins del bdi tt kbd var samp q cite "
    "acronym dfn s strike big nobr".split()
)
"""Inline elements that belong to the surrounding text."""
EMPHASIS = frozenset("b strong i em u mark sup sub wbr font".split())
"""Formatting that sets off words of a text."""
_LINES = frozenset("a h1 h2 h3 h4 h5 h6".split())
"""Elements that are one line of text."""
BLOCKS = frozenset("p ul ol pre blockquote dl table figure hr".split())
"""Elements of which texts consist."""
_STEADY = 0.7
_LONG = 60


def shape_of(tree: Tree, slot: Slot, kids: list[Slot]) -> Shape:
    """Return the shape of a slot; `kids` are the slots directly below it."""
    elements = list(slot.elements.values())
    with_own = sum(1 for element in elements if any(map(has_word, element.own)))
    if with_own * 2 >= len(elements):
        telling = [kid for kid in kids if _has_words(tree, kid) and not is_emphasis(tree, slot, kid)]
        return "parts" if telling and _has_parts(tree, slot, telling) else "text"
    if kids and _is_inline(elements) and (_has_loose_words(slot, kids) or _is_series(elements)):
        return "text"
    if slot.is_named and all(map(is_text_only, elements)):
        return "text"
    return "flow" if _is_flow(tree, elements) else "container"


def _has_parts(tree: Tree, slot: Slot, kids: list[Slot]) -> bool:
    """Return True if the slots in a text are values of their own, rather than words of it."""
    if any(kid.example.tag in BLOCKS and _share(kid, slot) >= 0.5 for kid in kids):
        return True
    if all(_is_constant(tree, kid) and _share(kid, slot) >= _STEADY for kid in kids):
        return True  # a unit or label beside the value
    own = [" ".join(element.own) for element in slot.elements.values()]
    if len(set(own)) * 5 <= len(own) or all(not has_word(text) or len(text) <= 3 for text in own):
        return True  # words between the values: by, in, |
    parts = [
        kid
        for kid in kids
        if (kid.example.tag not in FORMAT or kid.example.classes) and not _is_constant(tree, kid)
    ]
    steady = [kid for kid in parts if _share(kid, slot) >= _STEADY]
    is_short = sum(map(len, own)) <= _LONG * len(own)
    return is_short and 2 * len(steady) > len(parts)


def is_emphasis(tree: Tree, slot: Slot, kid: Slot) -> bool:
    """Return True for words of a text that are set off: those searched for, in the results of a search."""
    if kid.example.tag not in EMPHASIS:
        return False
    texts = [tree.text(element, 80).casefold() for some in kid.repeats.values() for element in some]
    if classify_all(texts) != "text":
        return False
    between = sum(len(element.own) > 1 for element in slot.elements.values())
    if len(set(texts)) == 1 and 2 * between <= len(slot.elements):
        return False  # a label before the text, or a badge after it
    return slot.example.tag in _LINES or (kid.is_list and 2 * len(set(texts)) <= len(texts))


def has_word(text: str) -> bool:
    """Return True if a text is more than a separator: it has a letter, a digit, a currency or a star."""
    return any(character.isalnum() or character in "★☆" or category(character) == "Sc" for character in text)


def is_text_only(element: Element) -> bool:
    """Return True if the element contains only text and inline formatting."""
    return all(child.tag in FORMAT and is_text_only(child) for child in element.children)


def is_plain_block(element: Element) -> bool:
    """Return True for a paragraph, list or other block without a name of its own."""
    return (
        element.tag in BLOCKS and "itemprop" not in element.attrs and not any(map(is_stable, element.classes))
    )


def _has_loose_words(slot: Slot, kids: list[Slot]) -> bool:
    """Return True if no part is in most items, or the parts are the words of one text."""
    words = all(kid.example.tag in FORMAT for kid in kids) and any(kid.is_list for kid in kids)
    return words or max(_share(kid, slot) for kid in kids) < _STEADY


def _is_series(elements: list[Element]) -> bool:
    """Return True for links with separators between them: the authors of a paper, the tags of a post."""
    several = [element for element in elements if len(element.children) > 1]
    return (
        5 * len(several) > len(elements)
        and len({len(element.children) for element in elements}) > 1
        and all(element.own and not any(map(has_word, element.own)) for element in several)
        and all(child.tag == "a" for element in several for child in element.children)
    )


def _has_words(tree: Tree, kid: Slot) -> bool:
    """Return True if a slot has more than line breaks, icons and separators."""
    return any(has_word(tree.text(element, 80)) for element in kid.elements.values())


def _is_inline(elements: list[Element]) -> bool:
    """Return True if the elements contain only links and formatted text."""
    return all(
        child.tag == "a" or (child.tag in FORMAT and is_text_only(child))
        for element in elements
        for child in element.children
    )


def _is_constant(tree: Tree, kid: Slot) -> bool:
    return len({tree.text(element, 80) for element in kid.elements.values()}) == 1


def _share(kid: Slot, slot: Slot) -> float:
    return len(kid.elements) / len(slot.elements)


def _is_flow(tree: Tree, elements: list[Element]) -> bool:
    """Return True for texts of several paragraphs: their number differs, and they are not named."""
    counts = [sum(map(is_plain_block, element.children)) for element in elements]
    children = sum(len(element.children) for element in elements)
    if not children or sum(counts) < 0.7 * children or max(counts) < 2:
        return False
    has_paragraphs = sum(any(child.tag in {"p", "pre"} for child in element.children) for element in elements)
    is_long = sum(map(tree.size_of, elements)) > 60 * len(elements)
    return is_long and len(set(counts)) > 1 and 2 * has_paragraphs > len(elements)
