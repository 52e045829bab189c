"""The shop's goods: derived from one seed, the same on every machine and at every start."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import msgspec

from smartspider.demo.words import BRANDS, COLOURS, ORIGINS, PRAISE, SENSES, SHELVES, Shelf

SEED = b"smartspider demo shop 1"
PER_SHELF = 30
PER_LIST_PAGE = 12
PRICE_BANDS = {"under-20": (0, 2_000), "20-to-60": (2_000, 6_000), "over-60": (6_000, 10**9)}
SORTS = ("price", "rating")

SLOW_PRODUCTS = frozenset({17, 66, 131, 203})
"""Numbers of the products whose pages take their time."""
BUSY_PRODUCTS = frozenset({40})
"""Numbers of the products that answer 503 with Retry-After to the first request."""
BROKEN_PRODUCTS = frozenset({93, 178})
"""Numbers of the products that answer 500 to the first request."""
MOVED_PRODUCTS = (12, 77, 150)
"""Numbers of the products that had another address once and are redirected from it."""
CHINESE_PRODUCT = 5
"""Number of the product whose page is written in Chinese and encoded in GBK."""


class Product(msgspec.Struct, frozen=True):
    """One thing that can be bought."""

    number: int
    sku: str
    slug: str
    title: str
    shelf: str
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
        """Where its page is."""
        return f"/product/{self.slug}"

    @property
    def old_path(self) -> str:
        """Where its page was before the shop moved."""
        return f"/p/{self.number}"

    @property
    def price(self) -> str:
        """The price as the page shows it, without currency."""
        return f"{self.cents // 100}.{self.cents % 100:02d}"


def _draw(number: int, what: str, below: int) -> int:
    """A number in [0, below) that depends on nothing but the seed and the arguments."""
    digest = blake2b(f"{number}/{what}".encode(), key=SEED, digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


def _pick(number: int, what: str, words: tuple[str, ...]) -> str:
    return words[_draw(number, what, len(words))]


def slug_of(text: str) -> str:
    """The part of a URL that stands for a title."""
    return "-".join("".join(char if char.isalnum() else " " for char in text.lower()).split())


def _product(number: int, shelf: Shelf, look: str, thing: str) -> Product:
    title = f"{look} {thing}"
    material = _pick(number, "material", shelf.materials)
    colour = _draw(number, "colour", len(COLOURS))
    tenths = 30 + _draw(number, "rating", 21)
    description = (
        f"The {title} is made of {material} for {_pick(number, 'use', shelf.uses)}. "
        f"It {_pick(number, 'sense', SENSES)}. {_pick(number, 'praise', PRAISE)}"
    )
    return Product(
        number=number,
        sku=f"SP-{number + 1001}",
        slug=slug_of(title),
        title=title,
        shelf=shelf.slug,
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
    """All goods, in the order of their numbers."""
    made: list[Product] = []
    for shelf in SHELVES:
        for look in shelf.looks:
            for thing in shelf.things:
                product = _product(len(made), shelf, look, thing)
                made.append(_in_chinese(product) if product.number == CHINESE_PRODUCT else product)
    return tuple(made)


@cache
def by_slug() -> dict[str, Product]:
    """Goods by the last part of their path."""
    return {product.slug: product for product in products()}


@cache
def on_shelf(slug: str) -> tuple[Product, ...]:
    """The goods of a category."""
    return tuple(product for product in products() if product.shelf == slug)


def shelf_pages() -> int:
    """How many list pages each category has."""
    return -(-PER_SHELF // PER_LIST_PAGE)


def brands() -> dict[str, str]:
    """Names of the brands by slug."""
    return {slug_of(name): name for name in BRANDS}


def related_to(product: Product) -> tuple[Product, ...]:
    """Four other goods: three from the same category and one from the next."""
    goods = products()
    shelf = on_shelf(product.shelf)
    place = product.number % PER_SHELF
    near = tuple(shelf[(place + step) % PER_SHELF] for step in (1, 7, 13))
    return (*near, goods[(product.number + PER_SHELF) % len(goods)])


def found(query: dict[str, str]) -> tuple[Product, ...]:
    """The goods a search shows: `category`, `price`, `brand` and `q` narrow, `sort` orders."""
    goods = on_shelf(query["category"]) if "category" in query else products()
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
