"""Values of JSON answers, found by JMESPath."""

from __future__ import annotations

from typing import Any

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.parsing.decoding import decode_json
from smartspider.extract.parsing.json_parser import InvalidJson, read_json
from smartspider.interfaces.layer import LayerRefused
from smartspider.plugins.options import InvalidOption, show


class AnswerValue:
    """Finds a value in JSON answers by a JMESPath expression of a task."""

    def __init__(self, option: str, expr: str) -> None:
        self._text = expr
        try:
            self._expr = JmesExpression(expr)
        except InvalidExpression as wrong:
            raise InvalidOption(option, f"{show(expr)} is not JMESPath: {wrong.what}", wrong.hint) from wrong

    def find(self, document: Any) -> Any:
        """Return the value in a document, None if there is none; raise `LayerRefused`."""
        try:
            return self._expr.search(document)
        except NotReadable as wrong:
            raise LayerRefused(wrong.message) from None

    def require(self, document: Any) -> Any:
        """Return the value in a document; raise `LayerRefused` if there is none."""
        found = self.find(document)
        if found is None or found == []:
            raise LayerRefused(f"the answer has nothing at {self._text!r}")
        return found


def read_answer(page: Page) -> Any:
    """Return the JSON of an answer; raise `LayerRefused`."""
    try:
        return read_json(decode_json(page)[0])
    except InvalidJson as wrong:
        raise LayerRefused(f"the answer is not JSON: {wrong}") from None
