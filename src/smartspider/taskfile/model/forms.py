"""Keys that accept several JSON types, such as a string or an object, distinguished before validation.

Each form has a mark that pydantic adds to an error's location. Marks start with NUL, so that they cannot
be confused with a user's key; they are never displayed.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Discriminator

MARK = "\0"
TEXT = MARK + "text"
SWITCH = MARK + "switch"
NUMBER = MARK + "number"
LIST = MARK + "list"
OBJECT = MARK + "object"

WRONG_FORM = "wrong_form"
WRONG_KIND = "wrong_kind"


class Section(BaseModel):
    """A section of the task file: immutable; unknown keys and values of similar types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def form_of(value: object) -> str | None:
    """Return the mark of a value's JSON type; None for null."""
    match value:
        case bool():
            return SWITCH
        case str():
            return TEXT
        case int() | float():
            return NUMBER
        case list():
            return LIST
        case dict() | BaseModel():
            return OBJECT
        case _:
            return None


def by_form(forms: dict[str, str], expected: str) -> Discriminator:
    """Select a form by JSON type. `forms` maps types to marks; `expected` describes them in errors."""

    def choose(value: Any) -> str | None:
        return forms.get(form_of(value) or "")

    return Discriminator(choose, custom_error_type=WRONG_FORM, custom_error_message=expected)


def by_key(keys: dict[str, str], forms: dict[str, str], expected: str) -> Discriminator:
    """Select the form of an object by the first of `keys` that it has; else by JSON type, as `by_form`."""

    def choose(value: Any) -> str | None:
        if isinstance(value, str):  # by far the most frequent
            return forms.get(TEXT)
        has_key = value.__contains__ if isinstance(value, dict) else lambda key: hasattr(value, key)
        return next((mark for key, mark in keys.items() if has_key(key)), forms.get(form_of(value) or ""))

    return Discriminator(choose, custom_error_type=WRONG_FORM, custom_error_message=expected)


def by_kind(kinds: tuple[str, ...]) -> Discriminator:
    """Select a form by the key `type`."""

    def choose(value: Any) -> str | None:
        kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return MARK + kind if isinstance(kind, str) and kind in kinds else None

    return Discriminator(choose, custom_error_type=WRONG_KIND, custom_error_message=", ".join(kinds))
