"""The part of the shop where things go wrong: pages that refuse, fail, wait, are empty or change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from html import escape
from typing import NamedTuple

import msgspec
from aiohttp import web

from smartspider.demo import catalogue, pages
from smartspider.demo.catalogue import Product

PATH = "/trouble"
SLOW_S = 5.0
BUSY_GAP_S = 0.5
"""Busy pages answer 429 to a request that comes sooner after the last one they served."""
RETRY_AFTER_S = 1
PER_LIST_PAGE = 4
EMPTY_ONCE = 2
"""The page of the list that is empty at its first request."""


class Shelf(NamedTuple):
    """Products whose pages share a fault."""

    title: str
    about: str
    numbers: range
    """Numbers of products."""


SHELVES = {
    "forbidden": Shelf("Members only", "These pages answer 403.", range(4)),
    "busy": Shelf("On sale", "These pages answer 429 to whoever asks too fast.", range(10, 16)),
    "broken": Shelf("In repair", "These pages answer 500 once.", range(20, 23)),
    "slow": Shelf("Made to order", "These pages take five seconds.", range(30, 32)),
    "list": Shelf("All the rest", "The second page of this list is empty once.", range(40, 52)),
    "layout": Shelf("New looks", "These pages change their layout when they are told to.", range(60, 64)),
}


class Trouble(msgspec.Struct):
    """The state of the faulty pages of one shop. `now` returns seconds of any clock that runs forward."""

    now: Callable[[], float] = time.monotonic
    failed: set[str] = msgspec.field(default_factory=set)
    """Paths that have failed once and work from now on."""
    served_at: float | None = None
    """The time at which a busy page was served last."""
    has_new_layout: bool = False

    def fails_first(self, path: str) -> bool:
        """Return True once for each path."""
        is_first = path not in self.failed
        self.failed.add(path)
        return is_first

    def is_too_fast(self) -> bool:
        """Return whether a busy page is asked too soon after the last one."""
        now = self.now()
        if self.served_at is not None and now - self.served_at < BUSY_GAP_S:
            return True
        self.served_at = now
        return False


TROUBLE = web.AppKey("trouble", Trouble)


def add_trouble(app: web.Application) -> None:
    """Add the routes of the faulty pages, which nothing else in the shop links to."""
    app[TROUBLE] = Trouble()
    app.router.add_get(PATH, _index)
    app.router.add_post(f"{PATH}/layout/{{name:old|new}}", _switch)
    app.router.add_get(f"{PATH}/{{shelf}}", _shelf)
    app.router.add_get(f"{PATH}/{{shelf}}/{{slug}}", _product)


def goods_of(name: str) -> tuple[Product, ...]:
    """Return the products of a shelf."""
    return tuple(catalogue.products()[number] for number in SHELVES[name].numbers)


async def _index(request: web.Request) -> web.Response:
    links = "\n".join(
        f'<li><a href="{PATH}/{name}">{escape(shelf.title)}</a>: {escape(shelf.about)}</li>'
        for name, shelf in SHELVES.items()
    )
    return _page(request, "Trouble", f'<h1>Trouble</h1>\n<ul class="shelves">\n{links}\n</ul>')


async def _switch(request: web.Request) -> web.Response:
    request.app[TROUBLE].has_new_layout = request.match_info["name"] == "new"
    return web.Response(status=204)


async def _shelf(request: web.Request) -> web.Response:
    name = _known_shelf(request)
    goods = goods_of(name)
    last = -(-len(goods) // PER_LIST_PAGE) if name == "list" else 1
    text = request.query.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 1 <= number <= last:
        raise web.HTTPNotFound
    title = f"<h1>{escape(SHELVES[name].title)}</h1>"
    if name == "list" and number == EMPTY_ONCE and request.app[TROUBLE].fails_first(request.path_qs):
        return _page(request, SHELVES[name].title, f'{title}\n<ul class="grid"></ul>')
    shown = goods[(number - 1) * PER_LIST_PAGE : number * PER_LIST_PAGE] if last > 1 else goods
    cards = "\n".join(
        f'<li class="card"><a class="title" href="{PATH}/{name}/{each.slug}">{escape(each.title)}</a></li>'
        for each in shown
    )
    after = f'<a class="next" rel="next" href="?page={number + 1}">Next</a>' if number < last else ""
    return _page(request, SHELVES[name].title, f'{title}\n<ul class="grid">\n{cards}\n</ul>\n{after}')


async def _product(request: web.Request) -> web.Response:
    name, trouble = _known_shelf(request), request.app[TROUBLE]
    slug = request.match_info["slug"]
    product = next((each for each in goods_of(name) if each.slug == slug), None)
    if product is None:
        raise web.HTTPNotFound
    match name:
        case "forbidden":
            return web.Response(status=403, text="members only")
        case "busy" if trouble.is_too_fast():
            return web.Response(status=429, text="too fast", headers={"Retry-After": str(RETRY_AFTER_S)})
        case "broken" if trouble.fails_first(request.path):
            return web.Response(status=500, text="out of order")
        case "slow":
            await asyncio.sleep(SLOW_S)
    layout = _new_layout if name == "layout" and trouble.has_new_layout else _old_layout
    return _page(request, product.title, layout(product))


def _old_layout(product: Product) -> str:
    return f"""<article class="product"><h1>{escape(product.title)}</h1>
<p>Article <b class="sku">{product.sku}</b></p>
<p class="price">{pages.SIGNS[product.currency]}{product.price}</p></article>"""


def _new_layout(product: Product) -> str:
    return f"""<section class="sheet"><h2 class="name">{escape(product.title)}</h2>
<dl><dt>Article</dt><dd class="number">{product.sku}</dd>
<dt>Price</dt><dd class="cost">{pages.SIGNS[product.currency]}{product.price}</dd></dl></section>"""


def _known_shelf(request: web.Request) -> str:
    name = request.match_info["shelf"]
    if name not in SHELVES:
        raise web.HTTPNotFound
    return name


def _page(request: web.Request, title: str, body: str) -> web.Response:
    text = pages.document(title, body, path=request.path_qs, base=f"http://{request.host}")
    return web.Response(text=text, content_type="text/html")
