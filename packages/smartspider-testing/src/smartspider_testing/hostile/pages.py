"""Bodies of pages that take a careless reader minutes, gigabytes, or both."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

AttackKind = Literal[
    "attributes",
    "depth",
    "links",
    "entities",
    "patterns",
    "json",
    "feed",
    "sitemap",
    "charset",
    "compression",
]
_FACTORS = {"small": 0.05, "middle": 0.3, "large": 1.0}


@dataclass(frozen=True)
class HostilePage:
    """A hostile page. `make` returns its body as it is sent."""

    name: str
    kind: AttackKind
    make: Callable[[], bytes]
    media_type: str = "text/html"
    charset: str = "utf-8"
    encoding: str = ""
    """The content encoding, if the body is compressed."""


def hostile_pages() -> Iterator[HostilePage]:
    """Yield all hostile pages, each shape in three sizes."""
    for size, factor in _FACTORS.items():
        for name, kind, shape, most in _HTML_SHAPES:
            yield HostilePage(f"{name} {size}", kind, _repeated(shape, int(most * factor)))
        for name, kind, build, most in _BUILT:
            yield HostilePage(f"{name} {size}", kind, _built(build, int(most * factor)), *_media(kind))
        for encoding, compress in _COMPRESSORS.items():
            for name, unit in (("blanks", b" "), ("tags", b"<b>"), ("rows", b"<tr><td>x")):
                make = _compressed(compress, unit, int(30_000_000 * factor) // len(unit))
                yield HostilePage(f"{encoding} {name} {size}", "compression", make, encoding=encoding)
        for charset in (
            "utf-16",
            "utf-32",
            "utf-7",
            "gb18030",
            "iso-2022-jp",
            "hz",
            "big5",
            "koi8-r",
            "none",
        ):
            make = _built(_mixed_bytes, int(1_000_000 * factor))
            yield HostilePage(f"{charset} {size}", "charset", make, charset=charset)


def _media(kind: AttackKind) -> tuple[str, ...]:
    media = {"json": "application/json", "feed": "application/rss+xml", "sitemap": "application/xml"}
    return (media[kind],) if kind in media else ()


def _repeated(shape: tuple[bytes, bytes, bytes], count: int) -> Callable[[], bytes]:
    before, unit, after = shape
    return lambda: before + unit * count + after


def _built(build: Callable[[int], bytes], count: int) -> Callable[[], bytes]:
    return lambda: build(count)


def _compressed(compress: Callable[[bytes], bytes], unit: bytes, count: int) -> Callable[[], bytes]:
    return lambda: compress(b"<html><body>" + unit * count)


_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "gzip, gzip": lambda body: gzip.compress(gzip.compress(body)),
}

_SCOPE = b"<div itemscope itemprop=a itemtype=http://schema.org/Product>"
_LONG_BASE = b"<base href='/" + b"b" * 1_000_000 + b"/'>"
_HTML_SHAPES: tuple[tuple[str, AttackKind, tuple[bytes, bytes, bytes], int], ...] = (
    ("unclosed divs", "depth", (b"", b"<div>", b""), 200_000),
    ("divs closed at the end", "depth", (b"<div>" * 60_000, b"x", b"</div>" * 60_000), 1000),
    ("fonts after stray ends", "depth", (b"", b"<font color=i></p>", b""), 160_000),
    ("bold after stray ends", "depth", (b"", b"<b></p>", b""), 300_000),
    ("blocks in italics", "depth", (b"", b"<i><div></i>", b""), 100_000),
    ("tables in cells", "depth", (b"", b"<table><tr><td>", b""), 100_000),
    ("nested lists", "depth", (b"", b"<ul><li>", b""), 150_000),
    ("nested links", "depth", (b"", b"<a href=/x><p>", b""), 100_000),
    ("svg groups", "depth", (b"<svg>", b"<g>", b""), 300_000),
    ("cells in svg", "depth", (b"<svg>", b"<td>", b""), 300_000),
    ("templates", "depth", (b"", b"<template>", b""), 100_000),
    ("options", "depth", (b"<select>", b"<option>", b""), 300_000),
    ("options with bold", "depth", (b"<select>", b"<option><b>", b""), 150_000),
    ("items in items", "depth", (b"", b"<div class=item>", b""), 100_000),
    ("many items", "depth", (b"", b"<div class=item><p>x</p></div>", b""), 40_000),
    ("unknown elements", "depth", (b"", b"<x-y>", b""), 200_000),
    ("buttons", "depth", (b"", b"<button>", b""), 150_000),
    ("scopes in scopes", "depth", (b"", _SCOPE, b""), 20_000),
    ("spanning cells", "depth", (b"<table>", b"<tr><td rowspan=65534 colspan=1000>x", b"</table>"), 20_000),
    ("short links", "links", (b"", b"<a href=a>x</a>", b""), 100_000),
    ("links below a long base", "links", (_LONG_BASE, b"<a href=c>x</a>", b""), 5000),
    ("images below a long base", "links", (_LONG_BASE, b"<img src=c>", b""), 20_000),
    ("one long link", "links", (b"<a href='/", b"0123456789", b"'>x</a>"), 300_000),
    ("escaped links", "links", (b"", b"<a href='/\xe4\xbb\xb7\xe4\xbb\xb7'>x</a>", b""), 60_000),
    ("ampersands", "entities", (b"<p>", b"&amp;", b"</p>"), 800_000),
    ("references without end", "entities", (b"<p>", b"&ampx&lt&#x26", b"</p>"), 200_000),
    ("numeric references", "entities", (b"<p>", b"&#1114112;&#0;&#xd800;", b"</p>"), 150_000),
    ("long reference", "entities", (b"<p>&#", b"9", b";</p>"), 3_000_000),
    ("blanks", "patterns", (b"<div class=item><p>", b" ", b"x</p></div>"), 2_000_000),
    ("letters", "patterns", (b"<div class=item><p>", b"a", b"!</p></div>"), 1_000_000),
    ("digits", "patterns", (b"<div class=item><p>", b"1,", b"x</p></div>"), 500_000),
    ("words with slashes", "patterns", (b"<div class=item><p>", b"aa/", b"!</p></div>"), 300_000),
    ("quotes", "patterns", (b"<div class=item><p>", b"href=", b"</p></div>"), 300_000),
    ("combining marks", "patterns", (b"<div class=item><p>e", b"\xcc\x81\xcc\x96", b"</p></div>"), 400_000),
    ("dates", "patterns", (b"<div class=item><p>", b"1/2/", b"</p></div>"), 300_000),
    ("scripts", "json", (b"", b"<script type=application/ld+json>{</script>", b""), 20_000),
    ("assignments", "json", (b"<script>", b"a={[", b"</script>"), 300_000),
)  # fmt: skip


def _many_attributes(count: int) -> bytes:
    names = b" ".join(b"a%d=1" % number for number in range(count))
    return b"<html><body><div class=item " + names + b"><p>x</p></div>"


def _quoted_attributes(count: int) -> bytes:
    return b"<p " + b" ".join(b'a%d=">"' % number for number in range(count)) + b">x</p>"


def _body_attributes(count: int) -> bytes:
    return b"".join(b"<body a%d=1 b%d=1 c%d=1>" % (number, number, number) for number in range(count))


def _formatting(count: int) -> bytes:
    return b"".join(b"<b a%d>" % number for number in range(count)) + b"<p>x" * count


def _deep_json(count: int) -> bytes:
    return b'{"a":' * count + b"1" + b"}" * count


def _wide_json(count: int) -> bytes:
    return b"[" + b",".join([b'{"a":[[],{}]}'] * count) + b"]"


def _long_number(count: int) -> bytes:
    return b'{"a":' + b"9" * count + b"}"


def _json_keys(count: int) -> bytes:
    return b"{" + b",".join(b'"k%d":1' % number for number in range(count)) + b"}"


def _json_escapes(count: int) -> bytes:
    return b'{"a":"' + b"\\ud800\\u0000" * count + b'"}'


def _laughs(count: int) -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY l0 "ha">{entities}]><rss><channel>'
    return head.encode() + b"<item><title>&l9;</title></item>" * count + b"</channel></rss>"


def _quadratic_entity(count: int) -> bytes:
    head = b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "' + b"a" * count + b'">]><rss><channel><title>'
    return head + b"&a;" * (count // 10) + b"</title></channel></rss>"


def _feed_items(count: int) -> bytes:
    return b"<rss><channel>" + b"<item><title>x</title><link>/a</link></item>" * count + b"</channel></rss>"


def _deep_feed(count: int) -> bytes:
    return b"<rss><channel>" + b"<item>" * count


def _feed_bases(count: int) -> bytes:
    base = b'<entry xml:base="' + b"b/" * 2000 + b'"><link href="c"/>'
    return b'<feed xmlns="http://www.w3.org/2005/Atom">' + base * count


def _feed_namespaces(count: int) -> bytes:
    names = b" ".join(b'xmlns:n%d="u%d"' % (number, number) for number in range(count))
    return b"<rss " + names + b"><channel><item/></channel></rss>"


def _sitemap_urls(count: int) -> bytes:
    return b"<urlset>" + b"".join(b"<url><loc>http://h.example/%d</loc></url>" % n for n in range(count))


def _deep_sitemap(count: int) -> bytes:
    return b"<urlset>" + b"<url>" * count


def _long_location(count: int) -> bytes:
    return b"<urlset><url><loc>http://h.example/" + b"a" * count + b"</loc></url></urlset>"


def _sitemap_attributes(count: int) -> bytes:
    return b"<urlset " + b" ".join(b'a%d="1"' % number for number in range(count)) + b"/>"


def _sitemap_comments(count: int) -> bytes:
    return b"<!-- x -->" * count + b"<urlset/>"


def _mixed_bytes(count: int) -> bytes:
    return b"<html><body><div class=item><p>" + bytes(range(32, 256)) * (count // 224) + b"</p></div>"


_BUILT: tuple[tuple[str, AttackKind, Callable[[int], bytes], int], ...] = (
    ("many attributes", "attributes", _many_attributes, 200_000),
    ("attributes with brackets", "attributes", _quoted_attributes, 150_000),
    ("attributes of body", "attributes", _body_attributes, 60_000),
    ("formatting opened again", "depth", _formatting, 30_000),
    ("deep json", "json", _deep_json, 500_000),
    ("wide json", "json", _wide_json, 200_000),
    ("long number", "json", _long_number, 2_000_000),
    ("many keys", "json", _json_keys, 200_000),
    ("foreign escapes", "json", _json_escapes, 150_000),
    ("billion laughs", "feed", _laughs, 1000),
    ("quadratic entity", "feed", _quadratic_entity, 100_000),
    ("many entries", "feed", _feed_items, 50_000),
    ("deep feed", "feed", _deep_feed, 200_000),
    ("bases in bases", "feed", _feed_bases, 250),
    ("namespaces", "feed", _feed_namespaces, 20_000),
    ("many locations", "sitemap", _sitemap_urls, 200_000),
    ("deep sitemap", "sitemap", _deep_sitemap, 200_000),
    ("long location", "sitemap", _long_location, 3_000_000),
    ("attributes of a sitemap", "sitemap", _sitemap_attributes, 100_000),
    ("comments before a sitemap", "sitemap", _sitemap_comments, 300_000),
)
