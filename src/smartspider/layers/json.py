"""The layer `json`: the part of a JSON answer that is the page."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.parsing.decoding import decode_json
from smartspider.extract.parsing.json_parser import InvalidJson, read_json
from smartspider.interfaces.layer import LayerRefused, LayerRequest
from smartspider.plugins.options import InvalidOption, show


class JsonLayer:
    """Takes the part of a JSON answer that a JMESPath expression finds as the page.

    A text is a document of `media_type`, and so are several texts, one per line. Any other value stays JSON.
    """

    def __init__(self, expr: str, media_type: str = "text/html") -> None:
        try:
            self._expr = JmesExpression(expr)
        except InvalidExpression as wrong:
            raise InvalidOption("expr", f"{show(expr)} is not JMESPath: {wrong.what}", wrong.hint) from wrong
        self._missing = f"the answer has nothing at {expr!r}"
        self._media_type = media_type

    def after_response(self, page: Page, _request: LayerRequest) -> Page:
        """Return the page that the answer holds."""
        try:
            found = self._expr.search(read_json(decode_json(page)[0]))
        except InvalidJson as wrong:
            raise LayerRefused(f"the answer is not JSON: {wrong}") from None
        except NotReadable as wrong:
            raise LayerRefused(wrong.message) from None
        if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
            found = "\n".join(found)
        if found is None or found == []:
            raise LayerRefused(self._missing)
        if isinstance(found, str):
            body, media_type = found.encode(errors="replace"), self._media_type
        else:
            body, media_type = msgspec.json.encode(found), "application/json"
        headers = {**page.headers, "content-type": f"{media_type}; charset=utf-8"}
        return msgspec.structs.replace(page, headers=headers, body=body, charset="utf-8")
