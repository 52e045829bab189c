"""The layer `json`: the part of a JSON answer that is the page."""

from __future__ import annotations

import msgspec

from smartspider.core.pages.page import Page
from smartspider.interfaces.layer import LayerRequest
from smartspider.layers.answers import AnswerValue, read_answer


class JsonLayer:
    """Takes the part of a JSON answer that a JMESPath expression finds as the page.

    A text is a document of `media_type`, and so are several texts, one per line. Any other value stays JSON.
    """

    def __init__(self, expr: str, media_type: str = "text/html") -> None:
        self._value = AnswerValue("expr", expr)
        self._media_type = media_type

    def after_response(self, page: Page, _request: LayerRequest) -> Page:
        """Return the page that the answer holds."""
        found = self._value.require(read_answer(page))
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            found = "\n".join(found)
        if isinstance(found, str):
            body, media_type = found.encode(errors="replace"), self._media_type
        else:
            body, media_type = msgspec.json.encode(found), "application/json"
        headers = {**page.headers, "content-type": f"{media_type}; charset=utf-8"}
        return msgspec.structs.replace(page, headers=headers, body=body, charset="utf-8")
