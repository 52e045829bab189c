"""Encode the query of a link in the charset of its page, as browsers do."""

from __future__ import annotations

import re

_NOT_ASCII = re.compile("[^\x00-\x7f]+")
_KEPT = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")
"""Bytes that the URL parser leaves as they are in a query."""


def encode_query(href: str, charset: str) -> str:
    """Return a link with the characters outside ASCII of its query percent-encoded in a legacy charset. Path
    and fragment, and everything on pages in Unicode, are left to the URL parser, which takes UTF-8.
    """
    if href.isascii() or charset.startswith("utf"):
        return href
    address, hash_mark, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    if query.isascii():
        return href
    encoded = _NOT_ASCII.sub(lambda found: _encoded(found[0], charset), query)
    return f"{path}{mark}{encoded}{hash_mark}{fragment}"


def _encoded(text: str, charset: str) -> str:
    try:
        return _escaped(text.encode(charset))
    except UnicodeEncodeError:
        return "".join(_encoded_character(character, charset) for character in text)


def _encoded_character(character: str, charset: str) -> str:
    """Return one character; one that the charset does not have becomes an escaped character reference."""
    try:
        return _escaped(character.encode(charset))
    except UnicodeEncodeError:
        return f"%26%23{ord(character)}%3B"


def _escaped(data: bytes) -> str:
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in data)
