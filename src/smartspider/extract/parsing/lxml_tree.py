"""Parse with lxml: HTML as libxml2 does, and XML without external access."""

from __future__ import annotations

import re
from html.entities import html5
from typing import Any

from lxml import etree

from smartspider.core.errors import NotReadable

_DEEPEST_HTML = 2000
"""libxml2 stops at 2,048 levels, so a page with fewer tags is complete."""
_REFERENCE = re.compile(
    rb"<!\[CDATA\[(?:.*?\]\]>|.*)|&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);", re.DOTALL
)
_OWN = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_UNKNOWN = "\ufffd".encode()


def parse_html(html: bytes) -> etree._Element:
    """Return the `html` element of UTF-8 HTML; raise `NotReadable`."""
    if _is_broken_utf8(html):
        html = html.decode(errors="replace").encode()
    html = html.strip()
    if max(html[:1], html[-1:]) > b"\x7f":
        html = html.decode().strip().encode()  # strip blanks beyond ASCII, as parsel does
    if not html:
        return etree.Element("html")
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
    root: etree._Element | None = etree.fromstring(html, parser)
    if html.count(b"<") > _DEEPEST_HTML:
        _refuse_depth(parser)
    return root if root is not None else etree.Element("html")


def parse_xml(xml: bytes) -> tuple[etree._Element, dict[str, str]]:
    """Return the root element of UTF-8 XML and the namespace prefixes; raise `NotReadable`.

    Elements without a prefix lose their namespace, so that `//url/loc` matches.
    """
    if _is_broken_utf8(xml):
        xml = xml.decode(errors="replace").encode()
    parser = etree.XMLParser(
        recover=True,
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        root: etree._Element | None = etree.fromstring(_REFERENCE.sub(_spelled_out, xml.strip()), parser)
    except etree.XMLSyntaxError:
        root = None
    _refuse_depth(parser)
    if root is None:
        raise NotReadable("the page is declared as XML but contains no elements")
    if b"<!ENTITY" in xml:
        # Entities defined by the page are not text of the page, and could expand without end.
        etree.strip_tags(root, etree.Entity)
    return root, _without_default_namespace(root)


def _is_broken_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


def _refuse_depth(parser: etree.HTMLParser | etree.XMLParser) -> None:
    if any("Excessive depth" in entry.message for entry in parser.error_log):
        raise NotReadable("the page nests its elements too deeply to be read")


def _spelled_out(found: re.Match[bytes]) -> bytes:
    """Replace a reference that XML does not know, or that names no character."""
    name = found[1]
    if name is None or name in _OWN:
        return found[0]
    if name[:1] != b"#":
        text = html5.get(name.decode() + ";")
        return found[0] if text is None else text.encode()
    digits = name[1:].lower().lstrip(b"x0")[:9]
    code = int(digits or b"0", 16 if name[1:2] in b"xX" else 10)
    return _UNKNOWN if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else found[0]


def _without_default_namespace(root: etree._Element) -> dict[str, str]:
    prefixes: dict[str, str] = {}
    has_default = False
    declared: Any = etree.iterwalk(root, events=("start-ns",))
    for _, (prefix, uri) in declared:
        if prefix:
            prefixes.setdefault(prefix, uri)
        else:
            has_default = True
    if has_default:
        elements: Any = root.iter("{*}*")
        for element in elements:
            if element.prefix is None:
                element.tag = element.tag.rpartition("}")[2]
        etree.cleanup_namespaces(root)
    return prefixes
