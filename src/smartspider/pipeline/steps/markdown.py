"""`markdown`: HTML as Markdown."""

from __future__ import annotations

import re

from smartspider.interfaces.step import StepFailed
from smartspider.pipeline.steps.html_text import parsed_body
from smartspider.pipeline.steps.shapes import TextStep

_LONGEST = 2_000_000
_GAPS = re.compile(r"\n{3,}")


class MarkdownStep(TextStep):
    """Markdown of an HTML fragment, scripts and styles left out. Only texts are treated."""

    def text(self, value: str) -> str:
        """The Markdown."""
        if len(value) > _LONGEST:
            raise StepFailed("is too long to become Markdown")
        from markdownify import markdownify

        body = parsed_body(value)
        try:
            marked: str = markdownify(body.html if body is not None else "", heading_style="ATX", bullets="-")
        except RecursionError as error:
            raise StepFailed("is HTML that is nested too deep") from error
        return _GAPS.sub("\n\n", marked).strip()
