"""The journal of the shop: dated articles, their feeds, and a page with a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from html import escape

import msgspec

from smartspider.demo import catalogue, pages
from smartspider.demo.words import CATEGORIES

PER_PAGE = 8
ARTICLES = 24
NEWEST = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
AUTHORS = ("Ada Birch", "Milo Fenn", "林小雨")
TABLE_PATH = "/compare"


class Article(msgspec.Struct, frozen=True):
    """An article about one product."""

    number: int
    slug: str
    title: str
    author: str
    published: datetime
    product: catalogue.Product
    paragraphs: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/journal/{self.slug}"


@cache
def articles() -> tuple[Article, ...]:
    """Return all articles, newest first, two days apart."""
    goods = catalogue.products()
    return tuple(_article(number, goods[number * 10 + 3]) for number in range(ARTICLES))


def _article(number: int, product: catalogue.Product) -> Article:
    title = f"A week with the {product.title}"
    return Article(
        number=number,
        slug=catalogue.slug_of(title),
        title=title,
        author=AUTHORS[number % len(AUTHORS)],
        published=NEWEST - timedelta(days=2 * number),
        product=product,
        paragraphs=(
            f"We put the {product.title} on a table and left it there for a week. {product.description}",
            f"It comes from {product.specs['Made in']}, weighs {product.specs['Weight']} and is made by"
            f" {product.brand}, whose workshop we have known for years.",
            "On the first day nobody noticed it. On the third day somebody asked where it had come from, and"
            " on the seventh it had found a place of its own, which is all that one can ask of a thing.",
        ),
    )


def by_slug() -> dict[str, Article]:
    """Return articles by the last part of their path."""
    return {article.slug: article for article in articles()}


def list_pages() -> int:
    """Return the number of pages of the article list."""
    return -(-ARTICLES // PER_PAGE)


def article_list(page: int, base: str) -> str:
    """Return one page of the list; pages beyond the last are empty."""
    first = (page - 1) * PER_PAGE
    rows = "\n".join(
        f'<li class="entry"><h2><a href="{article.path}">{escape(article.title)}</a></h2>\n'
        f'<p class="meta"><time datetime="{article.published.isoformat()}">'
        f"{article.published:%d %B %Y}</time>"
        f' by <span class="author">{escape(article.author)}</span></p></li>'
        for article in articles()[first : first + PER_PAGE]
    )
    after = f'<a class="older" rel="next" href="?page={page + 1}">Older</a>' if page < list_pages() else ""
    body = f'<h1>Journal</h1>\n<ul class="journal">\n{rows}\n</ul>\n<nav class="pager">{after}</nav>'
    return pages.document("Journal", body, path="/journal", base=base)


def article_page(article: Article, base: str) -> str:
    """Return the page of an article."""
    text = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs)
    body = f"""<article itemscope itemtype="https://schema.org/Article">
<h1 itemprop="headline">{escape(article.title)}</h1>
<p class="meta"><time itemprop="datePublished" datetime="{article.published.isoformat()}">
{article.published:%d %B %Y}</time> by <span itemprop="author">{escape(article.author)}</span></p>
<div itemprop="articleBody">
{text}
</div>
<p class="about"><a href="{article.product.path}">{escape(article.product.title)}</a></p>
</article>"""
    return pages.document(article.title, body, path=article.path, base=base)


def rss(base: str) -> str:
    """Return the newest articles as RSS 2.0."""
    entries = "\n".join(
        f"<item><title>{escape(article.title)}</title><link>{base}{article.path}</link>"
        f'<guid isPermaLink="true">{base}{article.path}</guid>'
        f"<dc:creator>{escape(article.author)}</dc:creator>"
        f"<pubDate>{format_datetime(article.published, usegmt=True)}</pubDate>"
        f"<description>{escape(article.paragraphs[0])}</description></item>"
        for article in articles()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>'
        f"<title>{pages.SHOP_NAME} journal</title><link>{base}/journal</link>"
        f"<description>Things, looked at slowly</description>\n{entries}\n</channel></rss>\n"
    )


def atom(base: str) -> str:
    """Return the newest articles as Atom."""
    entries = "\n".join(
        f"<entry><id>{base}{article.path}</id><title>{escape(article.title)}</title>"
        f'<link rel="alternate" href="{base}{article.path}"/>'
        f"<updated>{article.published.isoformat()}</updated>"
        f"<author><name>{escape(article.author)}</name></author>"
        f"<summary>{escape(article.paragraphs[0])}</summary></entry>"
        for article in articles()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{base}/journal</id><title>{pages.SHOP_NAME} journal</title>"
        f"<updated>{NEWEST.isoformat()}</updated>\n{entries}\n</feed>\n"
    )


def json_feed(base: str) -> dict[str, object]:
    """Return the newest articles as JSON Feed."""
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"{pages.SHOP_NAME} journal",
        "home_page_url": f"{base}/journal",
        "items": [
            {
                "id": f"{base}{article.path}",
                "url": f"{base}{article.path}",
                "title": article.title,
                "content_text": article.paragraphs[0],
                "date_published": article.published.isoformat(),
                "authors": [{"name": article.author}],
            }
            for article in articles()
        ],
    }


def comparison(base: str) -> str:
    """Return a page that compares the cheapest product of each category."""
    cheapest = [
        min(catalogue.in_category(category.slug), key=lambda each: each.cents) for category in CATEGORIES
    ]
    rows = "\n".join(
        f'<tr><td>{product.sku}</td><td><a href="{product.path}">{escape(product.title)}</a></td>'
        f"<td>{pages.SIGNS[product.currency]}{product.price}</td><td>{product.rating}</td></tr>"
        for product in cheapest
    )
    body = f"""<h1>Small prices</h1>
<table class="comparison"><caption>The cheapest thing on every shelf</caption>
<thead><tr><th>Article</th><th>Product</th><th>Price</th><th>Rating</th></tr></thead>
<tbody>
{rows}
</tbody></table>"""
    return pages.document("Small prices", body, path=TABLE_PATH, base=base)
