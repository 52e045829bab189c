"""Routes of the shop for programs and readers: API, journal, feeds, manual, robots.txt and sitemaps."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable, Iterable
from html import escape

from aiohttp import web

from smartspider.demo import api, catalogue, journal, manual, pages
from smartspider.demo.words import CATEGORIES

LARGEST_NUMBER = 1_000_000
_HTML = "text/html"
_XML = "application/xml"


def add_routes(app: web.Application) -> None:
    """Add the routes of the API, the journal, the feeds, the manual and the sitemaps."""
    router = app.router
    router.add_get("/api/products", _by_page)
    router.add_get("/api/by-offset", _by_offset)
    router.add_get("/api/by-cursor", _by_cursor)
    router.add_get("/api/by-link", _by_link)
    router.add_post("/api/search", _search)
    router.add_get("/api/products/{sku}", _detail)
    router.add_get("/api/products/{sku}/reviews", _reviews)
    router.add_post("/graphql", _graphql)
    router.add_get("/journal", _article_list)
    router.add_get("/journal/feed.xml", _text(journal.rss, "application/rss+xml"))
    router.add_get("/journal/atom.xml", _text(journal.atom, "application/atom+xml"))
    router.add_get("/journal/feed.json", _json_feed)
    router.add_get("/journal/{slug}", _article)
    router.add_get(journal.TABLE_PATH, _text(journal.comparison, _HTML))
    router.add_get(manual.PATH, _text(manual.index_page, _HTML))
    router.add_get(manual.SETTINGS_PATH, _text(manual.settings_page, _HTML))
    router.add_get(manual.TERMS_PATH, _text(manual.terms_page, _HTML))
    router.add_get(f"{manual.PATH}/{{name}}", _chapter)
    router.add_get("/robots.txt", _text(robots, "text/plain"))
    router.add_get("/sitemap.xml", _text(sitemap_index, _XML))
    router.add_get("/sitemaps/pages.xml", _text(page_sitemap, _XML))
    router.add_get("/sitemaps/products.xml.gz", _product_sitemap)


def _base(request: web.Request) -> str:
    return f"http://{request.host}"


def _text(write: Callable[[str], str], kind: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=write(_base(request)), content_type=kind)

    return answer


def _number(request: web.Request, name: str, default: int, least: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= LARGEST_NUMBER:
        message = f'{{"error": "{name} must be a number from {least}"}}'
        raise web.HTTPBadRequest(text=message, content_type="application/json")
    return int(text)


async def _by_page(request: web.Request) -> web.Response:
    return web.json_response(api.by_page(_number(request, "page", 1, 1)))


async def _by_offset(request: web.Request) -> web.Response:
    offset, limit = _number(request, "offset", 0, 0), _number(request, "limit", api.PAGE_SIZE, 1)
    return web.json_response(api.by_offset(offset, limit))


async def _by_cursor(request: web.Request) -> web.Response:
    return _piece(api.by_cursor(request.query.get("cursor")))


async def _by_link(request: web.Request) -> web.Response:
    page = _number(request, "page", 1, 1)
    listed = api.by_page(page)["items"]
    return web.json_response(listed, headers={"Link": api.link_header(page)})


async def _search(request: web.Request) -> web.Response:
    asked = await _sent_json(request)
    if not isinstance(asked, dict):
        return web.json_response({"error": "send a JSON object"}, status=400)
    cursor = asked.get("cursor")
    query = {name: text for name in ("q", "category") if isinstance(text := asked.get(name), str)}
    return _piece(api.by_cursor(cursor if isinstance(cursor, str) else None, query))


def _piece(answer: dict[str, object] | None) -> web.Response:
    if answer is None:
        return web.json_response({"error": "the cursor is not ours"}, status=400)
    return web.json_response(answer)


async def _detail(request: web.Request) -> web.Response:
    return web.json_response(api.detail(_product(request)))


async def _reviews(request: web.Request) -> web.Response:
    return web.json_response(api.reviews(_product(request)))


def _product(request: web.Request) -> catalogue.Product:
    for product in catalogue.products():
        if product.sku == request.match_info["sku"]:
            return product
    raise web.HTTPNotFound


async def _graphql(request: web.Request) -> web.Response:
    return web.json_response(api.graphql(await _sent_json(request)))


async def _sent_json(request: web.Request) -> object:
    try:
        sent: object = await request.json()
    except ValueError:
        return None
    return sent


async def _article_list(request: web.Request) -> web.Response:
    page = _number(request, "page", 1, 1)
    return web.Response(text=journal.article_list(page, _base(request)), content_type=_HTML)


async def _article(request: web.Request) -> web.Response:
    article = journal.by_slug().get(request.match_info["slug"])
    if article is None:
        raise web.HTTPNotFound
    return web.Response(text=journal.article_page(article, _base(request)), content_type=_HTML)


async def _chapter(request: web.Request) -> web.Response:
    chapter = manual.CHAPTERS_BY_NAME.get(request.match_info["name"])
    if chapter is None:
        raise web.HTTPNotFound
    return web.Response(text=manual.chapter_page(chapter, _base(request)), content_type=_HTML)


async def _json_feed(request: web.Request) -> web.Response:
    return web.json_response(journal.json_feed(_base(request)), content_type="application/feed+json")


async def _product_sitemap(request: web.Request) -> web.Response:
    return web.Response(body=product_sitemap(_base(request)), content_type="application/gzip")


_SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def robots(base: str) -> str:
    """Return robots.txt."""
    return f"User-agent: *\nDisallow: /private/\nDisallow: /cart\n\nSitemap: {base}/sitemap.xml\n"


def sitemap_index(base: str) -> str:
    """Return the sitemap index."""
    entries = "".join(
        f"<sitemap><loc>{escape(base)}{path}</loc></sitemap>"
        for path in ("/sitemaps/pages.xml", "/sitemaps/products.xml.gz")
    )
    return _xml(f'<sitemapindex xmlns="{_SITEMAP_NAMESPACE}">{entries}</sitemapindex>')


def page_sitemap(base: str) -> str:
    """Return the sitemap of all pages but products."""
    lists = [pages.list_path(category.slug, page) for category in CATEGORIES for page in _list_numbers()]
    brands = [f"/brand/{slug}" for slug in catalogue.brands()]
    return _sitemap(base, ["/", "/about", "/brands", *lists, *brands])


def product_sitemap(base: str) -> bytes:
    """Return the compressed sitemap of all products; the same bytes each time."""
    text = _sitemap(base, (product.path for product in catalogue.products()))
    return gzip.compress(text.encode(), mtime=0)


def _list_numbers() -> range:
    return range(1, catalogue.category_pages() + 1)


def _sitemap(base: str, paths: Iterable[str]) -> str:
    entries = "".join(f"<url><loc>{escape(base + path)}</loc></url>" for path in paths)
    return _xml(f'<urlset xmlns="{_SITEMAP_NAMESPACE}">{entries}</urlset>')


def _xml(root: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'
