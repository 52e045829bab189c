"""Texts of layers: `{name}` and `{name:detail}` stand for parts of a request, `${NAME}` for a secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches

from smartspider.core.requests.secrets import ESCAPED, OPENING, SECRET_NAME, SecretValues
from smartspider.plugins.options import InvalidOption

_PART = re.compile(
    rf"\$\$\{{|\$\{{(?P<secret>{SECRET_NAME})\}}|\{{(?P<name>\w+)(?::(?P<detail>[^{{}}]+))?\}}"
)

FillPart = Callable[[str, str], str]
"""Returns the text of a part by its name and detail."""


class Template:
    """A text that is compiled once and filled for each request. Other braces are literal."""

    def __init__(self, option: str, text: str, known: Collection[str], secrets: SecretValues | None) -> None:
        self._parts: list[str | tuple[str, str]] = []
        end = 0
        for found in _PART.finditer(text):
            self._parts.append(text[end : found.start()])
            end = found.end()
            if found[0] == ESCAPED:
                self._parts.append(OPENING)
            elif found["secret"]:
                self._parts.append("" if secrets is None else secrets[found["secret"]])
            elif found["name"] in known:
                self._parts.append((found["name"], found["detail"] or ""))
            else:
                near = get_close_matches(found["name"], known, n=1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"known: {', '.join(known)}"
                raise InvalidOption(option, f"there is nothing named {found[0]}", hint)
        self._parts.append(text[end:])

    def details(self, name: str) -> list[str]:
        """Return the details that a name is used with."""
        return [part[1] for part in self._parts if isinstance(part, tuple) and part[0] == name]

    def names(self, name: str) -> bool:
        """Return whether the text has a part with a name."""
        return bool(self.details(name))

    def fill(self, part_of: FillPart) -> str:
        """Return the text with all parts."""
        return "".join(part if isinstance(part, str) else part_of(*part) for part in self._parts)
