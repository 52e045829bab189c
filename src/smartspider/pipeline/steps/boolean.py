"""`boolean`: yes and no in many spellings."""

from __future__ import annotations

import unicodedata
from typing import Any

from smartspider.core.columns import Kind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.steps.shapes import Converter, short_text

_TRUE = frozenset(
    "true yes y t on 1 ja oui si sí sim да tak ano evet 是 真 有 对 對 はい 예 ✓ ✔ ☑ ✅ "
    "checked enabled".split()
)
_FALSE = frozenset(
    "false no n f off 0 nein non não nao нет nie ne 否 假 无 無 没有 沒有 不是 不 いいえ 아니요 "
    "✗ ✘ ☐ ❌ unchecked disabled".split()
)


class BooleanStep(Converter):
    """True or false of words such as yes, no, on, 是 and 否, and of 1 and 0; everything else is neither."""

    kind: Kind | None = "boolean"

    def treat(self, value: Any, _: Around) -> bool:
        """True or false."""
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if value in (0, 1):
                return value == 1
            raise StepFailed("is neither true nor false")
        word = (
            unicodedata.normalize("NFKC", short_text(value, "true or false")).strip().rstrip(".!").casefold()
        )
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        raise StepFailed("is neither true nor false")
