"""The demo shop: its task, a web application and a process (`python -m smartspider.demo.shop --port 0`)."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import cast

from aiohttp import web

from smartspider.demo import catalogue, pages
from smartspider.demo.account import add_account
from smartspider.demo.process import serve_until_stopped
from smartspider.demo.program_routes import add_routes
from smartspider.demo.style import drawing
from smartspider.demo.trouble import add_trouble
from smartspider.demo.words import CATEGORIES

SLOW_S = 0.3
RETRY_AFTER_S = 1

HITS = web.AppKey("hits", Counter[str])
"""Requests per path and query."""
FAILED = web.AppKey("failed", set[str])
"""Products whose page has failed once and works from now on."""

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def demo_task(base_url: str, name: str = "shop") -> dict[str, object]:
    """Return a bundled task (`shop`, `trouble`) for a shop at `base_url`."""
    text = files("smartspider.demo").joinpath(f"tasks/{name}.json").read_text(encoding="utf-8")
    task: dict[str, object] = json.loads(text)
    base = base_url if base_url.endswith("/") else f"{base_url}/"
    task["entry_urls"] = [url.replace("{base_url}", base) for url in cast("list[str]", task["entry_urls"])]
    return task


def create_shop() -> web.Application:
    """Create the shop, with its own record of pages that have failed."""
    app = web.Application(middlewares=[_remember])
    app[HITS] = Counter()
    app[FAILED] = set()
    app.router.add_get("/", _home)
    app.router.add_get("/category/{slug}", _category)
    app.router.add_get("/search", _search)
    app.router.add_get("/product/{slug}", _product)
    app.router.add_get("/p/{number:[0-9]+}", _moved)
    app.router.add_get("/images/{sku}.svg", _image)
    app.router.add_get("/brands", _brands)
    app.router.add_get("/brand/{slug}", _brand)
    app.router.add_get("/about", _about)
    for path in pages.FORBIDDEN_PATHS:
        app.router.add_get(path, _forbidden)
    add_routes(app)
    add_account(app)
    add_trouble(app)
    return app


@asynccontextmanager
async def running_shop(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve the shop in this event loop and yield its URL."""
    runner = web.AppRunner(create_shop(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield f"http://{host}:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@web.middleware
async def _remember(request: web.Request, handler: Answer) -> web.StreamResponse:
    request.app[HITS][request.path_qs] += 1
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return _html(pages.not_found(request.path, _base(request)), status=404)


def _base(request: web.Request) -> str:
    return f"http://{request.host}"


def _html(text: str, *, status: int = 200) -> web.Response:
    return web.Response(text=text, content_type="text/html", status=status)


async def _home(request: web.Request) -> web.Response:
    return _html(pages.home_page(_base(request)))


async def _category(request: web.Request) -> web.Response:
    slug, page = request.match_info["slug"], request.query.get("page", "1")
    if slug not in {category.slug for category in CATEGORIES} or not page.isascii() or not page.isdigit():
        raise web.HTTPNotFound
    if not 1 <= int(page) <= catalogue.category_pages():
        raise web.HTTPNotFound
    return _html(pages.category_page(slug, int(page), _base(request)))


async def _search(request: web.Request) -> web.Response:
    return _html(pages.search(dict(request.query), _base(request)))


async def _product(request: web.Request) -> web.Response:
    product = catalogue.by_slug().get(request.match_info["slug"])
    if product is None:
        raise web.HTTPNotFound
    failure = _first_failure(product, request.app[FAILED])
    if failure is not None:
        return failure
    if product.number in catalogue.SLOW_PRODUCTS:
        await asyncio.sleep(SLOW_S)
    text = pages.product_page(product, _base(request))
    if product.charset == "utf-8":
        return _html(text)
    # The header has no charset on purpose: only the page itself declares its encoding.
    return web.Response(
        body=text.encode(product.charset, "xmlcharrefreplace"), headers={"Content-Type": "text/html"}
    )


def _first_failure(product: catalogue.Product, failed: set[str]) -> web.Response | None:
    """Return the error that a fragile page gives once."""
    if product.sku in failed:
        return None
    failed.add(product.sku)
    if product.number in catalogue.BUSY_PRODUCTS:
        return web.Response(status=503, text="busy", headers={"Retry-After": str(RETRY_AFTER_S)})
    if product.number in catalogue.BROKEN_PRODUCTS:
        return web.Response(status=500, text="out of order")
    return None


async def _moved(request: web.Request) -> web.Response:
    number = int(request.match_info["number"])
    if number not in catalogue.MOVED_PRODUCTS:
        raise web.HTTPNotFound
    return web.Response(status=301, headers={"Location": catalogue.products()[number].path})


async def _image(request: web.Request) -> web.Response:
    for product in catalogue.products():
        if product.sku == request.match_info["sku"]:
            return web.Response(text=drawing(product), content_type="image/svg+xml")
    raise web.HTTPNotFound


async def _brands(request: web.Request) -> web.Response:
    return _html(pages.brand_index(_base(request)))


async def _brand(request: web.Request) -> web.Response:
    slug = request.match_info["slug"]
    if slug not in catalogue.brands():
        raise web.HTTPNotFound
    return _html(pages.brand(slug, _base(request)))


async def _about(request: web.Request) -> web.Response:
    return _html(pages.about(_base(request)))


async def _forbidden(request: web.Request) -> web.Response:
    return _html(pages.forbidden(request.path, _base(request)))


def main() -> None:
    """Serve until stdin closes or a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.demo.shop", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    try:
        asyncio.run(serve_until_stopped(running_shop(options.host, options.port)))
    except OSError as error:
        sys.exit(f"error: cannot listen on {options.host}:{options.port}: {os.strerror(error.errno or 0)}")


if __name__ == "__main__":
    main()
