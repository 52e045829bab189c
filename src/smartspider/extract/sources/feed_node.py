"""An element of a feed, with children by name regardless of prefixes."""

from __future__ import annotations

from lxml import etree

from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.values import strip_html, to_absolute_url

_SPACES = {
    "http://www.w3.org/2005/Atom": "atom",
    "http://purl.org/atom/ns#": "atom",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://search.yahoo.com/mrss/": "media",
    "http://search.yahoo.com/mrss": "media",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/1999/xhtml": "xhtml",
}
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_MARKUP = ("<", "&")


class FeedNode:
    """An element with its children by name, read once. A name without prefix is one of the feed's own."""

    __slots__ = ("_children", "base", "element", "name")

    def __init__(self, element: etree._Element, base: str) -> None:
        self.element = element
        self.base = to_absolute_url(element.get(_XML_BASE), base) or base
        space, self.name = _split(element.tag)
        self._children: dict[str, list[etree._Element]] = {}
        own = space if space == "atom" else ""
        for child in element:
            if isinstance(child.tag, str):
                space, name = _split(child.tag)
                if space in {own, ""}:
                    self._children.setdefault(name, []).append(child)
                if space:
                    self._children.setdefault(f"{space}:{name}", []).append(child)

    def children(self, name: str) -> list[FeedNode]:
        """Return the children of this name."""
        return [FeedNode(child, self.base) for child in self._children.get(name, ())]

    def child(self, name: str) -> FeedNode | None:
        """Return the first child of this name."""
        found = self._children.get(name)
        return FeedNode(found[0], self.base) if found else None

    def attribute(self, name: str) -> str | None:
        """Return an attribute by name, optionally with a prefix of the table; None if missing or empty."""
        for key, value in self.element.attrib.items():
            space, local = _split(str(key))
            if name in {local if not space else "", f"{space}:{local}"}:
                return str(value).strip() or None
        return None

    def text(self, name: str) -> str | None:
        """Return the text of the first child of this name that has one; `link@href` is an attribute."""
        name, _, attribute = name.partition("@")
        for child in self._children.get(name, ()):
            found = child.get(attribute) or "" if attribute else _text_of(child)
            if found.strip():
                return found.strip()
        return None

    def first_text(self, *names: str) -> str | None:
        """Return the first text of these children."""
        return next((found for name in names if (found := self.text(name))), None)

    def texts(self, name: str) -> list[str]:
        """Return the collapsed texts of all children of this name."""
        found = (collapse(_text_of(child)) for child in self._children.get(name, ()))
        return [text for text in found if text]

    def plain(self, name: str) -> str | None:
        """Return the collapsed text of a child without markup."""
        found = self.text(name)
        if found and any(sign in found for sign in _MARKUP):
            return strip_html(found) or collapse(found)
        return collapse(found) if found else None

    def markup(self, name: str) -> str | None:
        """Return the content of an Atom text: text and HTML unchanged, XHTML as HTML."""
        found = self._children.get(name)
        if not found:
            return None
        if found[0].get("type") != "xhtml":
            return self.text(name)
        inner = "".join(etree.tostring(child, encoding="unicode", with_tail=False) for child in found[0])
        return inner.replace(' xmlns="http://www.w3.org/1999/xhtml"', "").strip() or None


def _text_of(element: etree._Element) -> str:
    return "".join(map(str, element.itertext()))


def _split(tag: str) -> tuple[str, str]:
    """Return the known prefix of a namespace (empty for the feed's own and for none), and the local name."""
    space, mark, name = tag.rpartition("}")
    if not mark:
        return "", tag.rpartition(":")[2] if tag.startswith(("atom:", "rss:")) else tag
    address = space[1:]
    if address in _SPACES:
        return _SPACES[address], name
    return ("", name) if "rss" in address.lower() or "netscape" in address.lower() else ("?", name)
