"""Structured data of product pages: JSON-LD, OpenGraph and microdata."""

from __future__ import annotations

import json
from html import escape

from smartspider.demo.catalogue import Product


def head(product: Product, base: str) -> str:
    """Return JSON-LD and OpenGraph for the head of a product page."""
    url, image = base + product.path, f"{base}/images/{product.sku}.svg"
    known = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": product.title,
        "sku": product.sku,
        "image": image,
        "description": product.description,
        "brand": {"@type": "Brand", "name": product.brand},
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": product.rating,
            "reviewCount": product.reviews,
        },
        "offers": {
            "@type": "Offer",
            "url": url,
            "price": product.price,
            "priceCurrency": product.currency,
            "availability": f"https://schema.org/{'InStock' if product.stock else 'OutOfStock'}",
        },
    }
    properties = {
        "og:type": "product",
        "og:title": product.title,
        "og:url": url,
        "og:image": image,
        "product:price:amount": product.price,
        "product:price:currency": product.currency,
    }
    tags = "\n".join(
        f'<meta property="{name}" content="{escape(content)}">' for name, content in properties.items()
    )
    # ASCII, so that it is the same JSON in every charset; `</` would end the script.
    written = json.dumps(known).replace("</", "<\\/")
    return f'{tags}\n<script type="application/ld+json">{written}</script>'


def microdata(product: Product) -> str:
    """Return hidden microdata properties of a product."""
    return (
        f'<meta itemprop="sku" content="{product.sku}">'
        f'<meta itemprop="name" content="{escape(product.title)}">\n'
        '<span itemprop="offers" itemscope itemtype="https://schema.org/Offer">'
        f'<meta itemprop="price" content="{product.price}">'
        f'<meta itemprop="priceCurrency" content="{product.currency}"></span>'
    )
