"""The products of the shop, derived from one seed: the same on every machine and at every start."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import msgspec

from smartspider.demo.words import BRANDS, CATEGORIES, COLOURS, ORIGINS, PRAISE, SENSES, Category

SEED = b"smartspider demo shop 1"
PER_CATEGORY = 30
PER_LIST_PAGE = 12
PRICE_BANDS = {"under-20": (0, 2_000), "20-to-60": (2_000, 6_000), "over-60": (6_000, 10**9)}
SORTS = ("price", "rating")

SLOW_PRODUCTS = frozenset({17, 66, 131, 203})
"""Numbers of products with slow pages."""
BUSY_PRODUCTS = frozenset({40})
"""Numbers of products that answer 503 with Retry-After to the first request."""
BROKEN_PRODUCTS = frozenset({93, 178})
"""Numbers of products that answer 500 to the first request."""
MOVED_PRODUCTS = (12, 77, 150)
"""Numbers of products that are redirected from an old URL."""
CHINESE_PRODUCT = 5
"""The number of the product whose page is in Chinese and encoded in GBK."""


class Product(msgspec.Struct, frozen=True):
    """A product of the shop."""

    number: int
    sku: str
    slug: str
    title: str
    category: str
    brand: str
    cents: int
    currency: str
    rating: str
    reviews: int
    stock: int
    description: str
    colours: tuple[str, ...]
    specs: dict[str, str]
    image_alt: str
    language: str = "en"
    charset: str = "utf-8"

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/product/{self.slug}"

    @property
    def old_path(self) -> str:
        """The path of its page before the shop moved."""
        return f"/p/{self.number}"

    @property
    def price(self) -> str:
        """The price as shown on the page, without currency."""
        return f"{self.cents // 100}.{self.cents % 100:02d}"


def _draw(number: int, what: str, below: int) -> int:
    """Return a number in [0, below) that depends only on the seed and the arguments."""
    digest = blake2b(f"{number}/{what}".encode(), key=SEED, digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


def _pick(number: int, what: str, words: tuple[str, ...]) -> str:
    return words[_draw(number, what, len(words))]


def slug_of(text: str) -> str:
    """Convert a title to the last part of a URL."""
    return "-".join("".join(char if char.isalnum() else " " for char in text.lower()).split())


def _product(number: int, category: Category, look: str, thing: str) -> Product:
    title = f"{look} {thing}"
    material = _pick(number, "material", category.materials)
    colour = _draw(number, "colour", len(COLOURS))
    tenths = 30 + _draw(number, "rating", 21)
    description = (
        f"The {title} is made of {material} for {_pick(number, 'use', category.uses)}. "
        f"It {_pick(number, 'sense', SENSES)}. {_pick(number, 'praise', PRAISE)}"
    )
    return Product(
        number=number,
        sku=f"SP-{number + 1001}",
        slug=slug_of(title),
        title=title,
        category=category.slug,
        brand=_pick(number, "brand", BRANDS),
        cents=400 + _draw(number, "price", 180) * 65,
        currency="EUR",
        rating=f"{tenths // 10}.{tenths % 10}",
        reviews=_draw(number, "reviews", 240),
        stock=_draw(number, "stock", 60),
        description=description,
        colours=tuple(COLOURS[(colour + step) % len(COLOURS)] for step in range(1 + colour % 3)),
        specs={
            "Material": material,
            "Made in": _pick(number, "origin", ORIGINS),
            "Weight": f"{120 + _draw(number, 'weight', 188) * 10} g",
            "Guarantee": f"{2 + _draw(number, 'years', 9)} years",
        },
        image_alt=f"{title} in {COLOURS[colour]}",
    )


def _in_chinese(product: Product) -> Product:
    return msgspec.structs.replace(
        product,
        slug="longjing-tea",
        title="西湖龙井绿茶",
        currency="CNY",
        description="手工炒制的明前西湖龙井。茶汤清亮、香气清新。适合慢慢品尝。",
        specs={"Material": "明前嫩芽", "Made in": "中国杭州", "Weight": "250 g", "Guarantee": "18 months"},
        image_alt="一罐西湖龙井绿茶",
        language="zh-CN",
        charset="gbk",
    )


@cache
def products() -> tuple[Product, ...]:
    """Return all products by number."""
    made: list[Product] = []
    for category in CATEGORIES:
        for look in category.looks:
            for thing in category.things:
                product = _product(len(made), category, look, thing)
                made.append(_in_chinese(product) if product.number == CHINESE_PRODUCT else product)
    return tuple(made)


@cache
def by_slug() -> dict[str, Product]:
    """Return products by the last part of their path."""
    return {product.slug: product for product in products()}


@cache
def in_category(slug: str) -> tuple[Product, ...]:
    """Return the products of a category."""
    return tuple(product for product in products() if product.category == slug)


def category_pages() -> int:
    """Return the number of list pages per category."""
    return -(-PER_CATEGORY // PER_LIST_PAGE)


def brands() -> dict[str, str]:
    """Return brand names by slug."""
    return {slug_of(name): name for name in BRANDS}


def related_to(product: Product) -> tuple[Product, ...]:
    """Return four other products: three of the same category and one of the next."""
    goods = products()
    category = in_category(product.category)
    place = product.number % PER_CATEGORY
    near = tuple(category[(place + step) % PER_CATEGORY] for step in (1, 7, 13))
    return (*near, goods[(product.number + PER_CATEGORY) % len(goods)])


def search(query: dict[str, str]) -> tuple[Product, ...]:
    """Return search results: `category`, `price`, `brand` and `q` filter, `sort` orders."""
    goods = in_category(query["category"]) if "category" in query else products()
    low, high = PRICE_BANDS.get(query.get("price", ""), (0, 10**9))
    words = query.get("q", "").lower()
    brand = brands().get(query.get("brand", ""))
    chosen = [
        product
        for product in goods
        if low <= product.cents < high
        and words in product.title.lower()
        and (brand is None or product.brand == brand)
    ]
    if query.get("sort") == "price":
        chosen.sort(key=lambda product: (product.cents, product.number))
    if query.get("sort") == "rating":
        chosen.sort(key=lambda product: (-float(product.rating), product.number))
    return tuple(chosen)
