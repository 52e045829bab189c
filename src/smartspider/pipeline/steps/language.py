"""`language`: which language a text is in."""

from __future__ import annotations

from typing import Any

from smartspider.core.columns import Kind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.shapes import Converter, word_for

_LOOKED_AT = 2_000
_FEWEST_LETTERS = 2


class LanguageStep(Converter):
    """Puts the ISO 639-1 code of a text's language into the field `to` (default: `language`). In the steps of
    a rule the code takes the text's place.
    """

    keeps_value = True
    """A text whose language nobody can tell stays."""

    def __init__(self, *, to: str | None = None) -> None:
        if to == "":
            raise OptionWrong("to", "is empty", "the field that receives the code")
        self.aside = to or "language"
        self.aside_kind: Kind = "text"
        self.aside_option = "to" if to else ""

    def treat(self, value: Any, _: Around) -> str:
        """The code."""
        if not isinstance(value, str):
            raise StepFailed(f"is {word_for(value)}, not text")
        text = value[:_LOOKED_AT]
        if sum(map(str.isalpha, text)) < _FEWEST_LETTERS:
            raise StepFailed("has too few letters to tell its language")
        import py3langid  # type: ignore[import-untyped]  # it has no types

        code: str = py3langid.classify(text)[0]
        return code

    def treat_aside(self, value: Any, around: Around) -> tuple[Any, str]:
        """The text as it is, and the code."""
        return value, self.treat(value, around)
