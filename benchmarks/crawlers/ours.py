"""The job as a SmartSpider task. `compare.py` writes it to a file and runs `smartspider crawl` on it."""

from __future__ import annotations

from typing import Any


def task(entry: str, fields: dict[str, str], concurrency: int) -> dict[str, Any]:
    """The task; politeness is off on purpose, as it is for every other crawler here."""
    return {
        "name": "benchmark",
        "entry_urls": [entry],
        "selectors": {
            "items": {"type": "css", "expr": ".card"},
            "fields": {name: {"type": "css", "expr": expr} for name, expr in fields.items()},
        },
        "follow": [{"selector": "a[href]"}],
        "concurrency": concurrency,
        "politeness": {"robots": "ignore", "delay_s": 0, "per_host": concurrency, "adaptive": False},
    }
