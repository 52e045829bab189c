"""`map`: values by a table."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.columns import Kind
from smartspider.interfaces.step import Around, StepFailed
from smartspider.pipeline.kinds import merged, natural_kind
from smartspider.pipeline.options import OptionWrong
from smartspider.pipeline.steps.shapes import Converter


class MapStep(Converter):
    """What stands for a value in `values`. Numbers and booleans are looked up as JSON writes them; a value
    that is not in the table becomes null, or stays with `on_error: keep`.
    """

    def __init__(self, *, values: dict[str, Any]) -> None:
        if not values:
            raise OptionWrong("values", "is empty", "an object: what is found, and what it becomes")
        self._values = values
        kinds = [natural_kind(value) for value in values.values() if value is not None]
        self.kind: Kind | None = merged(kinds)

    def treat(self, value: Any, _: Around) -> Any:
        """What it stands for."""
        if isinstance(value, dict):
            raise StepFailed("is an object, which is in no table")
        key = value if isinstance(value, str) else json.dumps(value)
        try:
            return self._values[key]
        except KeyError:
            raise StepFailed("is not in the table") from None
