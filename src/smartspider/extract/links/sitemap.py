"""Read sitemaps and robots.txt as pages of links."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

from smartspider.core.datetimes import assume_utc, parse_iso_datetime
from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import ROBOTS_PAGE, SITEMAP_PAGE, PagePlan, SitemapPlan
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import NO_EXTRAS, Extras, Request
from smartspider.extract.links.link_limit import within_limit

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_NESTING = 5
"""The most nested sitemap indexes."""
_GZIP = b"\x1f\x8b"
_PACKED_TWICE = 2
_MAX_MEMBERS = 1000
_LONGEST_URL = 8192
TOO_LONG = Refusal("trap", f"trap: the URL is longer than {_LONGEST_URL} characters")
TOO_NESTED = Refusal("trap", f"trap: sitemap indexes are nested more than {MAX_NESTING} deep")
_HEAD = 4096
_ROOT = re.compile(rb"<\?xml|<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)[\s>]", re.IGNORECASE)
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)", re.IGNORECASE | re.DOTALL)
_SITEMAP_LINE = re.compile(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_ENTRIES = ("{*}url", "{*}sitemap", "{*}item", "{*}entry")


class SitemapEntry(NamedTuple):
    """An entry of a sitemap."""

    url: str
    lastmod: str = ""
    is_sitemap: bool = False


def read_sitemap_page(plan: PagePlan, page: Page, request: Request, max_links: int = 50_000) -> Extraction:
    """Return the first `max_links` entries of a sitemap or robots.txt as links. Raise `NotReadable`."""
    if plan.kind == "robots":
        found = _SITEMAP_LINE.findall(page.body.decode("utf-8-sig", errors="replace"))
        links = [Link(url, SITEMAP_PAGE, depth=0) for url in dict.fromkeys(found) if len(url) <= _LONGEST_URL]
    else:
        sitemap = plan.sitemap or SitemapPlan(request.page)
        body = _unpacked(page.body, sitemap.max_bytes)
        is_guess = plan.name in (SITEMAP_PAGE, ROBOTS_PAGE)
        listed = _listed(body, page, is_guess=is_guess)
        links = list(_links(listed, plan, sitemap, page, request))
    dropped = max(len(links) - max_links, 0)
    return Extraction([], within_limit(links, max_links), page.url, links_dropped=dropped)


def _links(
    listed: Iterable[SitemapEntry], plan: PagePlan, sitemap: SitemapPlan, page: Page, request: Request
) -> Iterator[Link]:
    since = sitemap.newer_moment
    if sitemap.newer_age_s is not None:
        since = page.fetched_at - sitemap.newer_age_s
    extras = NO_EXTRAS if sitemap.method == "GET" else Extras(sitemap.method)
    seen: set[SitemapEntry] = set()
    for line in listed:
        same = line._replace(lastmod="")
        if same in seen:
            continue
        if len(line.url) > _LONGEST_URL:
            yield Link(line.url, sitemap.to, depth=0, refusal=TOO_LONG)
            continue
        changed_at = None if since is None or not line.lastmod else parse_latest_time(line.lastmod)
        if since is not None and changed_at is not None and changed_at < since:
            continue
        seen.add(same)
        if not line.is_sitemap:
            yield Link(line.url, sitemap.to, allow=sitemap.allow, deny=sitemap.deny, depth=0, extras=extras)
        else:
            refusal = None if request.depth < MAX_NESTING else TOO_NESTED
            yield Link(line.url, plan.name, depth=request.depth + 1, refusal=refusal)


def _listed(body: bytes, page: Page, *, is_guess: bool) -> Iterator[SitemapEntry]:
    """Yield the entries of a sitemap, a feed or a text file. An HTML page at a guessed URL has none."""
    if _HTML.match(body, 0, _HEAD):
        if is_guess:
            return
        raise NotReadable("the page is HTML, not a sitemap")
    root = _ROOT.search(body, 0, _HEAD)
    if root is not None or body.lstrip()[:1] == b"<":
        yield from _in_xml(body[root.start() :] if root else body.lstrip(), page)
    else:
        for line in _decoded(body, page).splitlines():
            if (url := line.strip())[:8].lower().startswith(("http://", "https://")):
                yield SitemapEntry(url)


def _in_xml(body: bytes, page: Page) -> Iterator[SitemapEntry]:
    from lxml import etree

    if page.charset.lower() not in ("utf-8", "utf8") and b"encoding=" not in body[:200]:
        body = _decoded(body, page).encode()
    context = etree.iterparse(
        io.BytesIO(body),
        events=("end",),
        tag=_ENTRIES,
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )
    try:
        for _, element in context:
            yield from _line(element)
            element.clear()
            while element.getprevious() is not None and (parent := element.getparent()) is not None:
                del parent[0]
    except etree.XMLSyntaxError:
        pass  # keep the entries before the error
    if context.root is None:
        raise NotReadable("the sitemap cannot be read: there is no element in it")


def _line(element: _Element) -> Iterator[SitemapEntry]:
    texts: dict[str, str] = {}
    for child in element.iterchildren("{*}*"):
        name, text = _local(child), (child.text or "").strip()
        if name == "link" and child.get("href") and child.get("rel", "alternate") == "alternate":
            text = child.get("href", "").strip()
        if text:
            texts.setdefault(name, text)
    kind = _local(element)
    if kind in ("url", "sitemap"):
        url, changed = texts.get("loc"), texts.get("lastmod", "")
    else:
        url, changed = (
            texts.get("link"),
            texts.get("updated") or texts.get("pubDate") or texts.get("date", ""),
        )
    if url:
        yield SitemapEntry(url, changed, is_sitemap=kind == "sitemap")


def _local(element: _Element) -> str:
    """Return the name of an element without namespace or undeclared prefix."""
    return re.split("[}:]", str(element.tag))[-1]


def _unpacked(body: bytes, max_bytes: int) -> bytes:
    """Decompress gzip, whatever the server declares."""
    for _ in range(_PACKED_TWICE):
        if not body.startswith(_GZIP):
            return body
        body = _gunzip(body, max_bytes)
    return body


def _gunzip(packed: bytes, max_bytes: int) -> bytes:
    plain = bytearray()
    for _ in range(_MAX_MEMBERS):
        stream = zlib.decompressobj(31)
        try:
            plain += stream.decompress(packed, max_bytes + 1 - len(plain))
        except zlib.error as error:
            if plain:
                break
            raise NotReadable(f"the sitemap cannot be unpacked: {error}") from error
        if len(plain) > max_bytes:
            raise NotReadable(f"the sitemap is larger than the {max_bytes} bytes allowed (fetch.max_bytes)")
        packed = stream.unused_data
        if not packed.startswith(_GZIP):
            break
    return bytes(plain)


def _decoded(body: bytes, page: Page) -> str:
    try:
        return body.decode(page.charset, errors="replace").removeprefix("\ufeff")
    except (LookupError, ValueError):
        return body.decode(errors="replace").removeprefix("\ufeff")


_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_LONGEST_DATE = 64
_LENGTHS = (timedelta(days=366), timedelta(days=31), timedelta(days=1))
"""The most days of a year, a month and a day."""


def parse_latest_time(text: str) -> float | None:
    """Return the latest time that a date can mean (a day lasts until its end), or None. UTC
    without a zone.
    """
    if len(text) > _LONGEST_DATE:
        return None
    try:
        partial = _PARTIAL.fullmatch(text)
        if partial is not None:
            year, month, day = (int(part or 1) for part in partial.groups())
            length = _LENGTHS[2 - partial.groups().count(None)]
            return (datetime(year, month, day, tzinfo=UTC) + length).timestamp()
        return _exact(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def _exact(text: str) -> datetime:
    try:
        return parse_iso_datetime(text)
    except ValueError:
        return assume_utc(parsedate_to_datetime(text))
