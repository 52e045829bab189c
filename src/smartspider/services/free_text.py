"""Texts that people write: what no store can keep is refused before it comes to one."""

from __future__ import annotations

from smartspider.core.errors import Problem, RequestInvalid

HINT = "leave out zero bytes and what is not UTF-8"


def check_text(path: str, text: str) -> None:
    """Raises `RequestInvalid` for a text that cannot be kept; `path` is what the text is sent as."""
    if "\0" in text:
        reason = "holds a zero byte"
    elif any("\ud800" <= character <= "\udfff" for character in text):
        reason = "holds half a character"
    else:
        return
    problem = Problem(path, f"the {path} {reason}", HINT)
    raise RequestInvalid(problem.message, (problem,), hint=HINT)
