"""`integer`: texts such as `1,234` become whole numbers."""

from __future__ import annotations

from typing import Any

from smartspider.core.columns import Kind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.steps.number import NumberStep
from smartspider.pipeline.steps.number_text import LARGEST


class IntegerStep(NumberStep):
    """Reads what `number` reads, and wants it whole: 12.0 is 12, and 12.5 is not an integer."""

    kind: Kind | None = "integer"

    def __init__(self, *, locale: str | None = None) -> None:
        super().__init__(locale=locale)

    def treat(self, value: Any, around: Around) -> int:
        """The whole number."""
        number = self.treat_aside(value, around)[0]
        if isinstance(number, int):
            return number
        if not number.is_integer() or abs(number) > LARGEST:
            raise StepFailed("is not a whole number")
        return int(number)
