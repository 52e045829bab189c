"""Definition lists whose terms are the items: glossaries, questions and answers."""

from __future__ import annotations

from smartspider.suggest.html.class_names import is_stable
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.suggestion import Draft

_LEAST_TERMS = 5
_MOST_LISTS = 50


def term_lists(tree: Tree) -> list[Draft]:
    """Return drafts for lists of terms with definitions. A value outside its item needs XPath."""
    lists = [element for element in tree.elements if element.tag == "dl"][:_MOST_LISTS]
    drafts = []
    for one in lists:
        terms = [child for child in one.children if child.tag == "dt"]
        texts = [child for child in one.children if child.tag == "dd"]
        if len(terms) < _LEAST_TERMS or not len(terms) <= len(texts) <= 2 * len(terms):
            continue
        if len({tree.text(term, 80) for term in terms}) < len(terms):
            continue
        fields = {"term": {"type": "xpath", "expr": "."}, "definition": _after("dd[1]")}
        if all(any(child.tag == "a" for child in tree.inside(term)) for term in terms):
            fields["url"] = {"type": "xpath", "expr": ".//a/@href"}
        score = 2.0 * len(terms) ** 0.5
        reason = f"{len(terms)} terms with definitions"
        drafts.append(Draft("list", {"type": "xpath", "expr": _place(one, lists)}, fields, score, (reason,)))
    return drafts


def _after(what: str) -> dict[str, str]:
    return {"type": "xpath", "expr": f"following-sibling::{what}"}


def _place(element: Element, lists: list[Element]) -> str:
    if len(lists) == 1:
        return "//dl/dt"
    for name in element.classes:
        if is_stable(name) and sum(name in other.classes for other in lists) == 1:
            return f"//dl[has-class('{name}')]/dt"
    for above in (element, *element.ancestors()):
        identity = above.attrs.get("id", "")
        if identity and "'" not in identity:
            return f"//*[@id='{identity}']{'' if above is element else '//dl'}/dt"
    return "//dl/dt"
