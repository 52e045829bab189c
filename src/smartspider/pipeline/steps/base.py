"""Base classes of value steps."""

from __future__ import annotations

from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed

LOOKED_AT = 200
"""The most characters of a number, date or address; a longer text is none."""
_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


class Converter:
    """Converts a value; a value it cannot convert becomes null unless the task says otherwise."""

    kind: ColumnKind | None = None
    takes_null = False
    takes_lists = False
    is_check = False


class Check(Converter):
    """Passes a value or rejects the item."""

    is_check = True


class TextStep(Converter):
    """Converts text; other values pass unchanged."""

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the converted text."""
        return self.text(value) if isinstance(value, str) else value

    def text(self, value: str) -> Any:
        """Convert a text."""
        raise NotImplementedError


def require_short_text(value: Any, what: str) -> str:
    """Return a value that is a text short enough for `what`; raise `StepFailed` otherwise."""
    if not isinstance(value, str):
        raise StepFailed(f"is {type_name(value)}, not {what}")
    if len(value) > LOOKED_AT:
        value = value.strip()
        if len(value) > LOOKED_AT:
            raise StepFailed(f"is too long for {what}")
    text: str = value
    return text


def type_name(value: Any) -> str:
    """Return the type of a value in words."""
    return _WORDS.get(type(value), type(value).__name__)


def is_missing(value: Any) -> bool:
    """Return True for null, blank text, and empty lists and objects."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value or value.isspace()
    return isinstance(value, list | dict) and not value
