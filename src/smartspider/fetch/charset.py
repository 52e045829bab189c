"""Detect the charset of a body, in the order browsers do."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

PRESCAN_BYTES = 1024
UTF8_CHECK_BYTES = 1 << 20
GUESS_BYTES = 64 * 1024
FALLBACK = "windows-1252"
_LATIN = frozenset({"cp1252", "latin_1"})

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_UTF16_XML = ((b"<\0?\0x\0", "utf-16-le"), (b"\0<\0?\0x", "utf-16-be"))

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.IGNORECASE)
_IN_TAG = rb"""(?:[^>"']|"[^"]*"|'[^']*')*"""
_MARKUP = re.compile(
    rb"<!--(?:-?>|.*?(?:-->|\Z))"
    rb"|<meta(?=[\s/])(?P<meta>" + _IN_TAG + rb")>"
    rb"|</?[a-z]" + _IN_TAG + rb">"
    rb"|<[!/?][^>]*>",
    re.IGNORECASE | re.DOTALL,
)
"""Comments and other tags are matched so that a <meta> inside them is skipped."""
_ATTRIBUTE = re.compile(rb"""([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_XML_ENCODING = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]+)["']""")


class _MediaType:
    """A parsed Content-Type: the codec it names, and whether the body may declare one."""

    __slots__ = ("codec", "is_binary", "is_markup")

    def __init__(self, content_type: str) -> None:
        found = _HEADER_CHARSET.search(content_type)
        self.codec = codec_for(found[1] or found[2] or found[3] or "") if found else None
        media = content_type.partition(";")[0].strip().lower()
        self.is_markup = not media or "html" in media or "xml" in media
        self.is_binary = not self.is_markup and (
            media.startswith(("image/", "audio/", "video/", "font/"))
            or media in {"application/pdf", "application/zip", "application/gzip", "application/octet-stream"}
        )


_media_type = lru_cache(maxsize=512)(_MediaType)


_STRAY_SHARE = 10
"""Valid non-ASCII characters per invalid one that make a text UTF-8 nevertheless."""
_ENOUGH_BYTES = 12
_FOREIGN_SHARE = 0.25
_HIGH_BYTES = [bytes([number]) for number in range(0x80, 0x100)]
_ASCII_LETTERS = [bytes([number]) for number in (*range(0x41, 0x5B), *range(0x61, 0x7B))]


def detect_charset(body: bytes, content_type: str) -> str:
    """Return the Python codec of a body: byte order mark, header, <meta>, XML declaration, then its bytes."""
    first = body[:1]
    if first in b"\xef\xff\xfe":
        for mark, codec in _BOMS:
            if body.startswith(mark):
                return codec
    media = _media_type(content_type)
    if media.codec is not None:
        return media.codec
    if media.is_markup:
        declared = _declared(body)
        if declared is not None:
            return declared
    if media.is_binary or _is_utf8(body) or _is_mostly_utf8(body):
        return "utf-8"
    return _guessed(body)


def _declared(body: bytes) -> str | None:
    head = body[:PRESCAN_BYTES]
    for start, codec in _UTF16_XML:
        if head.startswith(start):
            return codec
    label = _meta_label(head)
    if label is None:
        found = _XML_ENCODING.match(head)
        label = codec_for(found[1].decode("latin-1")) if found else None
    # The declaration was read as ASCII, so it cannot be UTF-16.
    return "utf-8" if label in {"utf-16-le", "utf-16-be"} else label


def _meta_label(head: bytes) -> str | None:
    for tag in _MARKUP.finditer(head):
        attributes = tag["meta"]
        if attributes is None:
            continue
        named: dict[bytes, bytes] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(attributes):
            named.setdefault(name.lower(), double or single or bare)
        codec = codec_for(named.get(b"charset", b"").decode("latin-1"))
        if codec is None and named.get(b"http-equiv", b"").strip().lower() == b"content-type":
            found = _HEADER_CHARSET.search(named.get(b"content", b"").decode("latin-1"))
            codec = codec_for(found[1] or found[2] or found[3] or "") if found else None
        if codec is not None:
            return codec
    return None


def _is_utf8(body: bytes) -> bool:
    sample = body[:UTF8_CHECK_BYTES]
    try:
        codecs.utf_8_decode(sample, "strict", len(sample) == len(body))
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(body: bytes) -> bool:
    """Return whether the text is UTF-8 except for a few stray bytes, as after truncation or concatenation."""
    text = body[:GUESS_BYTES].decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    return sum(not character.isascii() for character in text) - broken > _STRAY_SHARE * broken


def _guessed(body: bytes) -> str:
    """Guess by content if there is enough of it: Western text has few non-ASCII letters."""
    sample = body[:GUESS_BYTES]
    high = sum(sample.count(byte) for byte in _HIGH_BYTES)
    letters = high + sum(sample.count(byte) for byte in _ASCII_LETTERS)
    if high < _ENOUGH_BYTES or high < _FOREIGN_SHARE * letters:
        return FALLBACK
    # Imported late: most crawls do not need it.
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample).best()
    if best is None or not _LATIN.isdisjoint(best.could_be_from_charset):
        return FALLBACK
    return codec_for(best.encoding.replace("_", "-")) or best.encoding


_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso8859-5": (
        "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"
    ),
    "iso8859-6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
        "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "iso8859-7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
        "iso_8859-7:1987 sun_eu_greek"
    ),
    "iso8859-8": (
        "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
        "iso_8859-8 iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical"
    ),
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
        "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined"
    ),
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
        "windows-1254 x-cp1254"
    ),
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ks_c_5601 ksc5601 "
        "ksc_5601 windows-949"
    ),
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}

_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}


def codec_for(label: str) -> str | None:
    """Return the Python codec for a label of a page or header; None if it is unknown."""
    return _CODECS.get(label.strip("\t\n\f\r \"'").lower())
