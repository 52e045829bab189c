"""Compile XPath expressions with known functions and prefixes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from lxml import etree

from smartspider.core.errors import NotReadable
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.libxml import xpath_patterns
from smartspider.extract.parsing.document import Document

_SETS = "http://exslt.org/sets"
_REGEX = "http://exslt.org/regular-expressions"
PREFIXES = {
    "re": _REGEX,
    "set": _SETS,
    "str": "http://exslt.org/strings",
    "math": "http://exslt.org/math",
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "georss": "http://www.georss.org/georss",
    "gml": "http://www.opengis.net/gml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "opensearch": "http://a9.com/-/spec/opensearch/1.1/",
    "podcast": "https://podcastindex.org/namespace/1.0",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rss": "http://purl.org/rss/1.0/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "soap": "http://schemas.xmlsoap.org/soap/envelope/",
    "svg": "http://www.w3.org/2000/svg",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "xlink": "http://www.w3.org/1999/xlink",
    "yt": "http://www.youtube.com/xml/schemas/2015",
}
"""Prefixes with the same meaning in every document, unless the document redefines them."""
_NOWHERE = "urn:smartspider:no-such-prefix:"

_FUNCTIONS = frozenset(
    """
    last position count id local-name namespace-uri name string concat starts-with contains substring-before
    substring-after substring string-length normalize-space translate boolean not true false lang number sum
    floor ceiling round has-class re:test re:match re:replace set:difference set:has-same-node
    set:intersection set:leading set:trailing set:distinct str:align str:concat str:decode-uri str:encode-uri
    str:padding math:abs math:constant math:highest math:lowest math:max
    math:min math:power math:sqrt
    """.split()
)
_NO_FUNCTIONS = frozenset({"text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"})
_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<variable>\$)|
    (?P<name>[^\W\d][\w.-]*(?::(?=[^\W\d]|\*)[\w.-]*)?)(?P<axis>::)?\s*(?P<call>\()?""",
    re.VERBOSE,
)
_ENDS_IN_ATTRIBUTE = re.compile(r"(?:@|attribute::)(?:[\w:.-]+|\*)\s*$")
_ENDS_IN_TEXT = re.compile(r"text\(\)\s*$")
_SAMPLE = "<html><head><title>t</title></head><body><p class='c' id='i'>x<a href='/'>y</a></p></body></html>"
_RENEWED_AFTER = 200
"""Evaluations after which an evaluator with EXSLT functions is replaced: each leaves an entry in its log."""

Strings = Literal["texts", "attributes", "mixed"]


class _Parts(NamedTuple):
    prefixes: frozenset[str]
    has_class: bool


class XPathExpression:
    """A compiled XPath 1.0 expression; raises `InvalidExpression`."""

    def __init__(self, expr: str, strings: Strings | None = None) -> None:
        self.expr = expr
        self.strings = strings or _strings_of(expr)
        """The kind of strings it returns; `mixed`: each string knows its own."""
        parts = _parts_of(expr)
        self._prefixes = parts.prefixes
        self._functions: dict[tuple[str | None, str], Callable[..., Any]] = {
            **({(None, "has-class"): has_class} if parts.has_class else {}),
            **(xpath_patterns.FUNCTIONS if "re" in parts.prefixes else {}),
        }
        self._is_renewed = bool({"set", "str", "math"} & parts.prefixes)
        self._uses = 0
        self._compiled: dict[tuple[str, ...], etree.XPath] = {}
        self._plain = None if parts.prefixes else self._compile({})
        sample = _try_out(
            self._plain or self._compile({prefix: _uri(prefix, {}) for prefix in parts.prefixes})
        )
        self.finds_nodes = isinstance(sample, list)
        """False if it computes a value, as `count(//a)` does."""

    def _bound(self, document: Document) -> etree.XPath:
        """Return the evaluator with the prefixes of a document."""
        if self._plain is not None:
            return self._plain
        uris = {prefix: _uri(prefix, document.prefixes) for prefix in sorted(self._prefixes)}
        key = tuple(uris.values())
        self._uses += 1
        if (self._is_renewed and self._uses > _RENEWED_AFTER) or len(self._compiled) > _RENEWED_AFTER:
            self._compiled.clear()
            self._uses = 0
        if key not in self._compiled:
            self._compiled[key] = self._compile(uris)
        return self._compiled[key]

    def results(self, document: Document, nodes: list[etree._Element]) -> list[Any]:
        """Evaluate the expression at each node; raise `NotReadable`."""
        evaluate = self._bound(document)
        try:
            return [evaluate(node) for node in nodes]
        except FAILURES as wrong:
            what = f"the XPath expression {self.expr!r} cannot be evaluated on the page: {wrong}"
            raise NotReadable(what) from None

    def _compile(self, uris: dict[str, str]) -> etree.XPath:
        try:
            return etree.XPath(
                self.expr,
                namespaces=uris or None,
                extensions=self._functions or None,
                regexp=False,
                smart_strings=self.strings == "mixed",
            )
        except etree.XPathSyntaxError as wrong:
            raise InvalidExpression(_position(wrong, self.expr), str(wrong).lower()) from None
        except (etree.LxmlError, ValueError) as wrong:
            raise InvalidExpression(None, str(wrong)) from None


FAILURES = (etree.LxmlError, ValueError, TypeError, re.error, OverflowError, RecursionError)
"""Errors that an evaluation may raise."""


def has_class(context: Any, *classes: str) -> bool:
    """XPath function `has-class('a', 'b')`: true if the context node has all these classes."""
    if not classes or not all(isinstance(name, str) for name in classes):
        raise ValueError("has-class() takes one or more class names in quotes")
    node = context.context_node
    own = node.get("class") if hasattr(node, "get") else None
    return own is not None and set(classes) <= set(_BLANKS.split(own))


_BLANKS = re.compile(r"[ \t\n\r\x0c]+")


def _parts_of(expr: str) -> _Parts:
    prefixes = set()
    uses_class = False
    for token in _TOKEN.finditer(expr):
        if token["variable"]:
            raise InvalidExpression(token.start(), "variables cannot be used")
        name = token["name"]
        if not name or token["axis"]:
            continue
        if token["call"] and name not in _NO_FUNCTIONS:
            if name not in _FUNCTIONS:
                raise InvalidExpression(token.start(), f"there is no function {name}()", _near(name))
            uses_class |= name == "has-class"
        prefix, colon, _ = name.partition(":")
        if colon:
            prefixes.add(prefix)
    return _Parts(frozenset(prefixes), uses_class)


def _near(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, _FUNCTIONS, n=1)
    return f"did you mean {near[0]}()?" if near else "XPath 1.0, re:, set: and has-class() are known"


def _uri(prefix: str, known: dict[str, str]) -> str:
    return known.get(prefix) or PREFIXES.get(prefix) or _NOWHERE + prefix


def _position(wrong: etree.XPathSyntaxError, expr: str) -> int | None:
    at: int | None = next((entry.column for entry in wrong.error_log if entry.column), None)
    return at if at is None or at <= len(expr.encode()) else None


def _try_out(evaluate: etree.XPath) -> Any:
    """Evaluate once: functions check their arguments only when called."""
    try:
        return evaluate(etree.fromstring(_SAMPLE))
    except FAILURES as wrong:
        raise InvalidExpression(None, str(wrong).lower()) from None


def _strings_of(expr: str) -> Strings:
    if "@" not in expr and "attribute" not in expr:
        return "texts"
    if "|" in expr:
        return "mixed"
    if _ENDS_IN_ATTRIBUTE.search(expr):
        return "attributes"
    return "texts" if _ENDS_IN_TEXT.search(expr) else "mixed"
