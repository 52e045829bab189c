"""What most value steps have in common."""

from __future__ import annotations

from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed

LOOKED_AT = 200
"""Characters of a text that converters look at; a longer one is not a number, a date or an address."""
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
    """Makes one value of another; a value it cannot make sense of becomes null unless the task says else."""

    kind: ColumnKind | None = None
    takes_null = False
    takes_lists = False
    is_check = False


class Check(Converter):
    """Lets a value pass or rejects the item."""

    is_check = True


class TextStep(Converter):
    """Treats texts; numbers, booleans and objects pass as they are."""

    def treat(self, value: Any, _: Around) -> Any:
        """The text as it should be."""
        return self.text(value) if isinstance(value, str) else value

    def text(self, value: str) -> Any:
        """The treatment of a text."""
        raise NotImplementedError


def short_text(value: Any, what: str) -> str:
    """The value, when it is text of a length that makes sense for `what`; raises `StepFailed`."""
    if not isinstance(value, str):
        raise StepFailed(f"is {word_for(value)}, not {what}")
    if len(value) > LOOKED_AT:
        value = value.strip()
        if len(value) > LOOKED_AT:
            raise StepFailed(f"is too long for {what}")
    text: str = value
    return text


def word_for(value: Any) -> str:
    """What a value is, in a word."""
    return _WORDS.get(type(value), type(value).__name__)


def is_missing(value: Any) -> bool:
    """Null, blank text, and lists and objects with nothing in them."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value or value.isspace()
    return isinstance(value, list | dict) and not value
