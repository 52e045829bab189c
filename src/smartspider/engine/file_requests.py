"""Files that items refer to become requests of the run, and their answers become files."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.pages.extraction import Extraction, Link
from smartspider.core.pages.files import (
    FILE_PAGE,
    REFERENCE,
    FilePlan,
    StoredFile,
    as_literal,
    is_forged,
    references_of,
    with_files,
)
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request, request_identity
from smartspider.core.requests.urls import CanonicalRules, canonical_url


class FileStore(Protocol):
    """1. A stored file is complete, also after a crash. 2. Equal content under an equal name is stored once.
    3. No name leads outside the folder. 4. Raises `StoreUnavailable` if nothing can be written.
    """

    def put(self, page: Page, plan: FilePlan) -> StoredFile:
        """Store the body of a page."""


def request_files(extraction: Extraction, request: Request, rules: CanonicalRules) -> Extraction:
    """Return the extraction with a link for each file that its items refer to. From then on, the references
    name the request, and objects of the page that look like references are marked as such.
    """
    links = []
    for reference in references_of(extraction.items):
        page, url = reference[REFERENCE], reference["url"]
        if page.startswith(FILE_PAGE):  # else an item has it twice
            links.append(Link(url, page, request.priority, depth=request.depth))
            reference[REFERENCE] = request_identity(canonical_url(url, rules), page=page).hex()
    items = [with_files(item, as_literal, is_forged) for item in extraction.items]
    return msgspec.structs.replace(extraction, items=items, links=[*extraction.links, *links])
