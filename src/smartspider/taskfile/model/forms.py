"""Keys that take more than one form (a string or an object, say), told apart before they are validated.

Every form has a mark that pydantic puts into an error's location. Marks begin with NUL, so they are never
mistaken for a key of the user's and never shown.
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
    """A part of the task file: unknown keys and near-miss types are errors, values never change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def form_of(value: object) -> str | None:
    """The mark of the JSON type of a value; None for null."""
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
    """Chooses by JSON type: `forms` maps it to a mark; anything else is not `expected`."""

    def choose(value: Any) -> str | None:
        return forms.get(form_of(value) or "")

    return Discriminator(choose, custom_error_type=WRONG_FORM, custom_error_message=expected)


def by_kind(kinds: tuple[str, ...]) -> Discriminator:
    """Chooses by the value of the key `type`: kind `a` has the mark of `a`."""

    def choose(value: Any) -> str | None:
        kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return MARK + kind if isinstance(kind, str) and kind in kinds else None

    return Discriminator(choose, custom_error_type=WRONG_KIND, custom_error_message=", ".join(kinds))
