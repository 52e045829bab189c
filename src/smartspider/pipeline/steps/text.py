"""Text: `trim`, `whitespace`, `unicode`, `lower`, `upper`, `language`."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Literal

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Converter, TextStep, type_name
from smartspider.plugins.options import InvalidOption

_INVISIBLE = "\u200b\ufeff\u2060"
"""Zero-width space, byte order mark, word joiner: never intended, and not whitespace to Python."""
_ENDS = _INVISIBLE + "".join(char for char in map(chr, range(0x3001)) if char.isspace())
_HARMLESS_MARKS = 2_000
_LONGEST_MARKS = 64
_MAYBE_MARKS = re.compile(r"[^\w\x00-\u02ff]{64,}")
"""Combining marks are not letters and start at U+0300. Matches few runs in ordinary text, quickly."""


class TrimStep(TextStep):
    """Removes whitespace and zero-width characters from both ends."""

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the trimmed text."""
        if not isinstance(value, str):
            return value
        value = value.strip()
        if not value or value.isascii():
            return value
        return value.strip(_ENDS) if value[0] in _INVISIBLE or value[-1] in _INVISIBLE else value


class WhitespaceStep(TextStep):
    """Collapses each run of whitespace, including line breaks, to one space, and trims."""

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return the text on one line."""
        if not isinstance(value, str):
            return value
        if value.isascii():
            if value.isprintable() and "  " not in value:
                # Whitespace other than the space is not printable, so there is nothing to collapse.
                return value.strip(" ")
        else:
            for char in _INVISIBLE:
                value = value.replace(char, "")
        return " ".join(value.split())


class UnicodeStep(TextStep):
    """Normalizes Unicode. `NFKC` also folds full-width letters and ligatures."""

    def __init__(self, *, form: Literal["NFC", "NFD", "NFKC", "NFKD"] = "NFC") -> None:
        self._form: Literal["NFC", "NFD", "NFKC", "NFKD"] = form

    def text(self, value: str) -> str:
        """Return the normalized text."""
        if value.isascii():
            return value
        if len(value) > _HARMLESS_MARKS and _has_many_marks(value):
            # Normalization sorts each run of marks in quadratic time.
            raise StepFailed("has too many combining marks in a row")
        return unicodedata.normalize(self._form, value)


class LowerStep(TextStep):
    """Converts to lower case."""

    def text(self, value: str) -> str:
        """Return the text in lower case."""
        return value.lower()


class UpperStep(TextStep):
    """Converts to upper case."""

    def text(self, value: str) -> str:
        """Return the text in upper case."""
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
    """Writes the ISO 639-1 code of the text's language to the field `to` (default: `language`). In rule steps
    the code replaces the text.
    """

    keeps_value = True
    """A text of unknown language stays."""

    def __init__(self, *, to: str | None = None) -> None:
        if to == "":
            raise InvalidOption("to", "is empty", "the field that receives the code")
        self.extra_field = to or "language"
        self.extra_kind: ColumnKind = "text"
        self.extra_option = "to" if to else ""

    def apply(self, value: Any, _: PageContext) -> str:
        """Return the code."""
        if not isinstance(value, str):
            raise StepFailed(f"is {type_name(value)}, not text")
        text = value[:_LOOKED_AT]
        if sum(map(str.isalpha, text)) < _FEWEST_LETTERS:
            raise StepFailed("has too few letters to tell its language")
        import py3langid  # type: ignore[import-untyped]  # it has no types

        code: str = py3langid.classify(text)[0]
        return code

    def apply_with_extra(self, value: Any, context: PageContext) -> tuple[Any, str]:
        """Return the text unchanged, and the code."""
        return value, self.apply(value, context)
