"""The compiled steps of a task."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page


class Pipeline(Protocol):
    """Applies the steps of a task to the items of a page.

    1. Items keep their order; a rejected item has its reason, step, field and value.
    2. One bad item never affects another.
    3. Raises nothing.
    4. Links stay unchanged.
    """

    def process(self, extraction: Extraction, page: Page) -> Extraction:
        """Return the extraction with processed items, rejects, counters and, if enabled, value changes."""
