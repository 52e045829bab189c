"""The steps of a task, put together."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page


class Pipeline(Protocol):
    """1. Items stay in their order; what is rejected keeps its reason, step, field and value. 2. One bad item
    never costs another. 3. Raises nothing. 4. Links are left alone.
    """

    def process(self, extraction: Extraction, page: Page) -> Extraction:
        """The extraction with its items treated, rejects, counts and (when turned on) changes added."""
