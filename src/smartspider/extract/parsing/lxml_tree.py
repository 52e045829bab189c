"""Trees by lxml: HTML as libxml2 reads it, and XML without anything that reaches outside the page."""

from __future__ import annotations

import re
from html.entities import html5
from typing import Any

from lxml import etree

from smartspider.core.errors import NotReadable

_DEEPEST_HTML = 2000
"""libxml2 stops at 2,048 levels, so that a page with fewer tags is whole."""
_REFERENCE = re.compile(
    rb"<!\[CDATA\[(?:.*?\]\]>|.*)|&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);", re.DOTALL
)
_OWN = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_UNKNOWN = "\ufffd".encode()


def html_tree(html: bytes) -> etree._Element:
    """The `html` element of UTF-8 HTML; raises `NotReadable`."""
    if _is_broken_utf8(html):
        html = html.decode(errors="replace").encode()
    html = html.strip()
    if max(html[:1], html[-1:]) > b"\x7f":
        html = html.decode().strip().encode()  # blanks beyond ASCII, which parsel takes off as well
    if not html:
        return etree.Element("html")
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
    root: etree._Element | None = etree.fromstring(html, parser)
    if html.count(b"<") > _DEEPEST_HTML:
        _refuse_depth(parser)
    return root if root is not None else etree.Element("html")


def xml_tree(xml: bytes) -> tuple[etree._Element, dict[str, str]]:
    """The root element of UTF-8 XML, and the prefixes of the document; raises `NotReadable`.

    An element without a prefix has no namespace in it, so that `//url/loc` finds what it says.
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
        raise NotReadable("the page says it is XML, but there is no element in it")
    if b"<!ENTITY" in xml:
        # What a page defines for itself is not text of the page, and may be made to grow without end.
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
    """A reference that XML does not know, or that names no character, as what it stands for."""
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
