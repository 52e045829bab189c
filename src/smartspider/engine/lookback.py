"""What a page tells later runs of its task, and what an earlier run told this one."""

from __future__ import annotations

import msgspec

from smartspider.core.extraction import Item
from smartspider.core.fingerprint import content_fingerprint
from smartspider.core.page import Page
from smartspider.core.plan import Plan
from smartspider.core.recrawl import Version, version_of
from smartspider.core.request import Request
from smartspider.core.verdict import Validators

_encode = msgspec.json.Encoder().encode


def is_unchanged(page: Page, request: Request) -> bool:
    """Whether the server says that the page is still the version that an earlier run stored."""
    return page.status == 304 and request.extras.version is not None and not page.hops


def validators_of(plan: Plan, page: Page, request: Request, items: list[Item]) -> Validators | None:
    """What a later run compares the page with, and asks with; None when the task does not look back.

    Content is the items where the page type has fields, and the body elsewhere.
    """
    if not plan.recrawl.looks_back:
        return None
    page_plan = plan.pages.get(request.page)
    has_fields = page_plan is not None and bool(page_plan.fields)
    content = content_fingerprint(_encode(items) if has_fields else page.body)
    is_asked_for = plan.recrawl.conditional and page.status == 200 and request.extras.method == "GET"
    return Validators(content, version_of(page.headers) if is_asked_for else Version())
