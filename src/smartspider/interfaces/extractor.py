"""Reading a page."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.pages.extraction import Extraction
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request


class Extractor(Protocol):
    """1. Pure: the same page gives the same extraction. 2. Every field key is in every item, in task order.
    3. Raises only `NotReadable`. 4. No value holds a NUL or a lone surrogate.
    """

    def engine_of(self, page: str) -> str:
        """What reads the pages of a type: `lexbor`, `lxml`, `json`, ..."""

    def extract(self, page: Page, request: Request) -> Extraction:
        """Items and links of a page, by the rules of the request's page type."""
