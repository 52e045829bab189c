"""Short pieces of HTML as text."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from smartspider.extract.texts import collapsed

_HARMLESS = 65_536


def plain_text(html: str) -> str:
    """The text of a piece of HTML, collapsed, blocks apart; what is long is not parsed beyond its start."""
    root = LexborHTMLParser(html[:_HARMLESS]).root
    if root is None:
        return ""
    root.strip_tags(["script", "style"])
    return collapsed(root.text(separator=" "))
