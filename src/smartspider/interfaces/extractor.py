"""Extraction of items and links from a page, and the steps that its items go through."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request


class Extractor(Protocol):
    """Extracts by the rules of a task.

    1. Pure: the same page gives the same extraction.
    2. Every item has every field, in task order.
    3. Raises only `NotReadable`.
    4. No value contains a NUL or a lone surrogate.
    """

    def engine_of(self, page: str) -> str:
        """Return the engine that reads a page type: `lexbor`, `lxml`, `json`, ..."""

    def extract(self, page: Page, request: Request) -> Extraction:
        """Return the items and links of a page, by the rules of the request's page type."""


class Pipeline(Protocol):
    """Applies the steps of a task to the items of a page.

    1. Items keep their order; a rejected item has its reason, step, field and value.
    2. One bad item never affects another.
    3. Raises nothing.
    4. Links stay unchanged.
    """

    def process(self, extraction: Extraction, page: Page) -> Extraction:
        """Return the extraction with processed items, rejects, counters and, if enabled, value changes."""
