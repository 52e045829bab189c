"""`url`: links become absolute URLs in one spelling."""

from __future__ import annotations

from typing import Any

from smartspider.core.urls import normal_url
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.steps.shapes import Converter, word_for

_LONGEST = 65_536


class UrlStep(Converter):
    """The absolute http(s) URL of a link of the page, in WHATWG form and without its fragment."""

    kind = "text"

    def treat(self, value: Any, around: Around) -> str:
        """The URL."""
        if not isinstance(value, str):
            raise StepFailed(f"is {word_for(value)}, not a URL")
        if not value or len(value) > _LONGEST or value.isspace():
            raise StepFailed("is not a URL")
        normal = normal_url(value, around.base)
        if normal is None:
            raise StepFailed("is not an http(s) URL")
        return normal
