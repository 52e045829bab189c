"""The demo task: crawl the whole shop, one row per product."""

from __future__ import annotations

import json
from importlib.resources import files


def demo_task(base_url: str) -> dict[str, object]:
    """Return the task for a shop at `base_url`."""
    text = files("smartspider.demo").joinpath("tasks/shop.json").read_text(encoding="utf-8")
    task: dict[str, object] = json.loads(text)
    task["entry_urls"] = [base_url if base_url.endswith("/") else f"{base_url}/"]
    return task
