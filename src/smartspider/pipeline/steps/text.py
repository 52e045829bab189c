"""Plain treatments of text: trim, whitespace, unicode, lower, upper."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Literal

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.shapes import Converter, TextStep, word_for

_INVISIBLE = "\u200b\ufeff\u2060"
"""Zero-width space, byte order mark, word joiner: never meant, and no whitespace to Python."""
_ENDS = _INVISIBLE + "".join(char for char in map(chr, range(0x3001)) if char.isspace())
_HARMLESS_MARKS = 2_000
_LONGEST_MARKS = 64
_MAYBE_MARKS = re.compile(r"[^\w\x00-\u02ff]{64,}")
"""Marks are no letters, and none comes before U+0300: finds few runs in an honest text, and fast."""


class TrimStep(TextStep):
    """Takes whitespace and zero-width characters off both ends of a text."""

    def treat(self, value: Any, _: Around) -> Any:
        """The text without them."""
        if not isinstance(value, str):
            return value
        value = value.strip()
        if not value or value.isascii():
            return value
        return value.strip(_ENDS) if value[0] in _INVISIBLE or value[-1] in _INVISIBLE else value


class WhitespaceStep(TextStep):
    """Makes each run of whitespace, line breaks included, one space; takes it off both ends."""

    def treat(self, value: Any, _: Around) -> Any:
        """The text on one line."""
        if not isinstance(value, str):
            return value
        if value.isascii():
            if value.isprintable() and "  " not in value:
                # Whitespace other than the space is not printable: nothing to collapse.
                return value.strip(" ")
        else:
            for char in _INVISIBLE:
                value = value.replace(char, "")
        return " ".join(value.split())


class UnicodeStep(TextStep):
    """One normal form for characters that can be written in several ways. `NFKC` also folds full-width
    letters and ligatures.
    """

    def __init__(self, *, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFC") -> None:
        self._form: Literal["NFC", "NFD", "NFKC", "NFKD"] = form

    def text(self, value: str) -> str:
        """The text in that form."""
        if value.isascii():
            return value
        if len(value) > _HARMLESS_MARKS and _has_many_marks(value):
            # Normalising sorts each run of marks, in time that grows with its square.
            raise StepFailed("has too many combining marks in a row")
        return unicodedata.normalize(self._form, value)


class LowerStep(TextStep):
    """Small letters."""

    def text(self, value: str) -> str:
        """The text in them."""
        return value.lower()


class UpperStep(TextStep):
    """Capital letters."""

    def text(self, value: str) -> str:
        """The text in them."""
        return value.upper()


def _has_many_marks(value: str) -> bool:
    for found in _MAYBE_MARKS.finditer(value):
        run = 0
        for char in found[0]:
            run = run + 1 if unicodedata.combining(char) else 0
            if run > _LONGEST_MARKS:
                return True
    return False


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
        self.aside_kind: ColumnKind = "text"
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
