"""`email`: addresses in one spelling."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.steps.shapes import Converter, short_text

_NAMED = re.compile(r"[^<>]*<([^<>]+)>\s*")
_ADDRESS = re.compile(
    r"(?P<local>[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*)"
    r"@(?P<domain>(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_](?:[\w-]*[^\W_])?)"
)
_LONGEST_LOCAL = 64


class EmailStep(Converter):
    """The address in a text such as `mailto:Ann@Example.COM?subject=x` or `Ann <ann@example.com>`, its domain
    in small letters.
    """

    kind = "text"

    def treat(self, value: Any, _: Around) -> str:
        """The address."""
        text = short_text(value, "an e-mail address").strip()
        if text[:7].lower() == "mailto:":
            text = unquote(text[7:].partition("?")[0]).strip()
        named = _NAMED.fullmatch(text)
        found = _ADDRESS.fullmatch(named[1].strip() if named else text)
        if found is None or len(found["local"]) > _LONGEST_LOCAL:
            raise StepFailed("is not an e-mail address")
        return f"{found['local']}@{found['domain'].lower()}"
