"""Control characters in text that is shown to people."""

from __future__ import annotations

import re

CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that a terminal obeys or hides: C0 and C1 controls except tab and line feed, bidirectional
controls, line separators, tags, and characters that Unicode reserves for internal use.
"""


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters written as in JSON: `\u001b`."""
    return CONTROLS.sub(escape_match, text)


def escape_match(found: re.Match[str]) -> str:
    """Return a character as in JSON."""
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
