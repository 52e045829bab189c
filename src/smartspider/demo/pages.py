"""The HTML pages of the shop, as pure functions of the catalogue."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

from smartspider.demo import catalogue, structured
from smartspider.demo.catalogue import Product
from smartspider.demo.style import HUES, STYLE
from smartspider.demo.words import CATEGORIES

SHOP_NAME = "Lantern Lane"
SIGNS = {"EUR": "€", "CNY": "¥"}

MISSING_PATH = "/summer-sale"
"""Linked from the home page, answers 404."""
FORBIDDEN_PATHS = ("/cart", "/private/offers", "/private/staff")
"""Linked from every page, disallowed by robots.txt."""
PICKS = (3, 41, 64, 95, 133, 160, 199, 221)
"""Numbers of products on the home page, linked with tracking parameters."""


def document(
    title: str, body: str, *, path: str, base: str, category: str = "", product: Product | None = None
) -> str:
    """Return a complete page around `body`."""
    language = product.language if product else "en"
    charset = product.charset if product else "utf-8"
    hue = f' style="--hue:{HUES[category]}"' if category else ""
    more = f"{structured.head(product, base)}\n" if product else ""
    return f"""<!DOCTYPE html>
<html lang="{language}"{hue}>
<head>
<meta charset="{charset}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} | {SHOP_NAME}</title>
<link rel="canonical" href="{escape(base + path)}">
<link rel="icon" href="data:,">
{more}<style>{STYLE}</style>
</head>
<body>
<header><div class="wrap">
<a class="logo" href="/">Lantern <span>Lane</span></a>
<nav class="site-nav" aria-label="Site">
<a href="/brands">Brands</a><a href="/about">About</a><a href="/cart">Cart</a></nav>
</div></header>
<nav class="categories" aria-label="Categories"><div class="wrap"><ul>
{_category_links(category)}
</ul></div></nav>
<main class="wrap">
{body}
</main>
<footer><div class="wrap">
<span>{SHOP_NAME} is a make-believe shop for trying crawlers.</span>
<a href="/private/offers">Members' offers</a><a href="/private/staff">Staff</a>
</div></footer>
</body>
</html>
"""


def _category_links(current: str) -> str:
    marks = {current: ' aria-current="page"'}
    return "\n".join(
        f'<li><a href="/category/{one.slug}"{marks.get(one.slug, "")}>{escape(one.title)}</a></li>'
        for one in CATEGORIES
    )


def _card(product: Product, campaign: str = "") -> str:
    href = escape(product.path + campaign)
    return f"""<li class="card">
<img src="/images/{product.sku}.svg" alt="" width="400" height="300" loading="lazy">
<div class="text"><a class="title" href="{href}">{escape(product.title)}</a>
<p class="by">{escape(product.brand)}</p>
<div class="row"><span class="amount">{_money(product)}</span>{_rating(product)}</div></div></li>"""


def _grid(goods: tuple[Product, ...], campaign: str = "") -> str:
    cards = "\n".join(_card(product, campaign) for product in goods)
    return f'<ul class="grid">\n{cards}\n</ul>'


def _money(product: Product) -> str:
    return f"{SIGNS[product.currency]}{product.price}"


def _rating(product: Product) -> str:
    return f'<span class="rating" data-value="{product.rating}">★ {product.rating}</span>'


def home_page(base: str) -> str:
    """Return the home page: categories, picks, and links to old URLs."""
    goods = catalogue.products()
    picks = tuple(goods[number] for number in PICKS)
    classics = "\n".join(
        f'<li><a href="{goods[number].old_path}">{escape(goods[number].title)}</a></li>'
        for number in catalogue.MOVED_PRODUCTS
    )
    body = f"""<section class="hero"><h1>Good things, made slowly</h1>
<p class="lead">{len(goods)} useful objects from {len(catalogue.brands())} small workshops.</p>
<form action="/search"><input name="q" aria-label="Search" placeholder="Kettle, lantern, notebook …">
<button>Search</button></form></section>
<section class="picks"><h2>Picked this week</h2>
{_grid(picks, "?utm_source=home&utm_medium=picks")}</section>
<section class="classics"><h2>Our classics</h2>
<ul>
{classics}
<li><a href="{MISSING_PATH}">Summer sale</a></li>
</ul></section>"""
    return document("Good things, made slowly", body, path="/", base=base)


def category_page(slug: str, page: int, base: str) -> str:
    """Return one page of a category."""
    category = next(category for category in CATEGORIES if category.slug == slug)
    pages = catalogue.category_pages()
    first = (page - 1) * catalogue.PER_LIST_PAGE
    goods = catalogue.in_category(slug)[first : first + catalogue.PER_LIST_PAGE]
    before = (
        f'<a class="previous" rel="prev" href="{list_path(slug, page - 1)}">← Previous</a>'
        if page > 1
        else ""
    )
    after = (
        f'<a class="next" rel="next" href="{list_path(slug, page + 1)}">Next →</a>' if page < pages else ""
    )
    body = f"""{_breadcrumbs([("/", "Home")], category.title)}
<h1>{escape(category.title)}</h1>
<p class="lead">{escape(category.blurb)}</p>
{_facets(slug, swapped=page > 1)}
{_grid(goods)}
<nav class="pager" aria-label="Pages">{before}<span>Page {page} of {pages}</span>{after}</nav>"""
    return document(category.title, body, path=list_path(slug, page), base=base, category=slug)


def list_path(slug: str, page: int) -> str:
    """Return the path of a page of a category."""
    return f"/category/{slug}" if page == 1 else f"/category/{slug}?page={page}"


def facet_queries(slug: str) -> list[dict[str, str]]:
    """Return the searches that category pages link to."""
    bands = [{"category": slug, "price": band} for band in catalogue.PRICE_BANDS]
    return bands + [{"category": slug, "sort": sort} for sort in catalogue.SORTS]


def _facets(slug: str, *, swapped: bool) -> str:
    """Return search links; `swapped` writes the same queries in the other order, as real sites do."""
    links = []
    for query in facet_queries(slug):
        pairs = list(query.items())
        href = "/search?" + urlencode(pairs[::-1] if swapped else pairs)
        kind, value = pairs[1]
        links.append(f'<a href="{escape(href)}">{kind}: {value.replace("-", " ")}</a>')
    return f'<nav class="facets" aria-label="Filters">{"".join(links)}</nav>'


def search(query: dict[str, str], base: str) -> str:
    """Return the results of a search."""
    goods = catalogue.search(query)
    slug = query.get("category", "")
    category = slug if slug in HUES else ""
    facets = _facets(category, swapped=False) if category else ""
    asked = ", ".join(f"{key} {value}" for key, value in sorted(query.items()))
    body = f"""{_breadcrumbs([("/", "Home")], "Search")}
<h1>{len(goods)} found</h1>
<p class="lead">{escape(asked)}</p>
{facets}
{_grid(goods)}"""
    return document(
        "Search", body, path="/search?" + urlencode(sorted(query.items())), base=base, category=category
    )


def product_page(product: Product, base: str) -> str:
    """Return the page of a product."""
    category = next(category for category in CATEGORIES if category.slug == product.category)
    trail = _breadcrumbs([("/", "Home"), (list_path(category.slug, 1), category.title)], product.title)
    brand_path = f"/brand/{catalogue.slug_of(product.brand)}"
    stock = f"{product.stock} in stock" if product.stock else "Sold out"
    stock_class = "stock" if product.stock else "stock gone"
    sentences = escape(product.description).replace(". ", ".\n  ")
    tags = "".join(f"<li>{colour}</li>" for colour in product.colours)
    body = f"""{trail}
<article class="detail product" itemscope itemtype="https://schema.org/Product">
{structured.microdata(product)}
<img class="photo" src="/images/{product.sku}.svg" alt="{escape(product.image_alt)}" width="400" height="300">
<div>
<p class="brand">by <a href="{brand_path}">{escape(product.brand)}</a></p>
<h1>{escape(product.title)}</h1>
<p>{_rating(product)} <span class="reviews">{product.reviews} reviews</span></p>
<p class="price"><span class="amount" data-currency="{product.currency}">{SIGNS[product.currency]}
<b>{product.price}</b></span></p>
<p class="{stock_class}" data-count="{product.stock}">{stock}</p>
<p class="description">
  {sentences}
</p>
<ul class="tags" aria-label="Colours">{tags}</ul>
<table class="specs">
<tr><th scope="row">Article</th><td class="sku">{product.sku}</td></tr>
{_specs(product)}
</table>
</div>
</article>
<section class="related"><h2>Goes well with it</h2>
{_grid(catalogue.related_to(product), "?utm_source=related")}</section>"""
    return document(
        product.title, body, path=product.path, base=base, category=product.category, product=product
    )


def _specs(product: Product) -> str:
    return "\n".join(
        f'<tr><th scope="row">{name}</th><td class="{catalogue.slug_of(name)}">{escape(value)}</td></tr>'
        for name, value in product.specs.items()
    )


def _breadcrumbs(links: list[tuple[str, str]], here: str) -> str:
    trail = " / ".join(f'<a href="{path}">{escape(title)}</a>' for path, title in links)
    return f'<nav class="breadcrumbs" aria-label="Breadcrumbs">{trail} / <span>{escape(here)}</span></nav>'


def brand_index(base: str) -> str:
    """Return the list of brands."""
    links = "\n".join(
        f'<li><a href="/brand/{slug}">{escape(name)}</a></li>' for slug, name in catalogue.brands().items()
    )
    body = f'{_breadcrumbs([("/", "Home")], "Brands")}\n<h1>Brands</h1>\n<ul class="brands">\n{links}\n</ul>'
    return document("Brands", body, path="/brands", base=base)


def brand(slug: str, base: str) -> str:
    """Return the products of one brand."""
    name = catalogue.brands()[slug]
    goods = catalogue.search({"brand": slug})
    trail = _breadcrumbs([("/", "Home"), ("/brands", "Brands")], name)
    body = f'{trail}\n<h1>{escape(name)}</h1>\n<p class="lead">{len(goods)} products</p>\n{_grid(goods)}'
    return document(name, body, path=f"/brand/{slug}", base=base)


def about(base: str) -> str:
    """Return the page about the shop."""
    body = """<h1>About this shop</h1>
<p class="lead">Nothing here can be bought. The shop exists so that a crawler can be tried out safely.</p>
<p>Some pages are slow, some fail at first and recover, some have moved, one is written in Chinese, and a few
are off limits to robots. A careful crawler finds every product once and leaves the rest alone.</p>"""
    return document("About", body, path="/about", base=base)


def forbidden(path: str, base: str) -> str:
    """Return a page that robots.txt disallows."""
    body = '<h1>For people only</h1>\n<p class="lead">robots.txt asks crawlers to stay away from here.</p>'
    return document("For people only", body, path=path, base=base)


def not_found(path: str, base: str) -> str:
    """Return the 404 page."""
    body = '<h1>Nothing here</h1>\n<p class="lead">There is no such page.</p>'
    return document("Nothing here", body, path=path, base=base)
