"""`schema`: check values against a JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Check
from smartspider.pipeline.steps.schema_patterns import with_user_patterns
from smartspider.plugins.options import InvalidOption

_DEEPEST = 100
_LONGEST = 200


class SchemaStep(Check):
    """Each of `fields` is valid against `json_schema` (draft 2020-12 unless it names another); without
    `fields` the whole item is checked.
    """

    takes_lists = True

    def __init__(self, *, json_schema: dict[str, Any]) -> None:
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry

        far = next((ref for ref in _references(json_schema, 0) if not ref.startswith("#")), None)
        if far is not None:
            hint = "only references inside the schema ('#/$defs/...') are followed"
            raise InvalidOption("json_schema", f"it refers to {far!r}", hint)
        kind = validator_for(json_schema)
        try:
            kind.check_schema(json_schema)
        except SchemaError as error:
            place = "".join(f"[{part!r}]" for part in error.absolute_path)
            reason = f"is not a JSON Schema{f' at {place}' if place else ''}: {error.message[:_LONGEST]}"
            raise InvalidOption("json_schema", reason) from error
        _require_targets(json_schema)
        self._validator = with_user_patterns(kind)(json_schema, registry=Registry())

    def apply(self, value: Any, _: PageContext) -> Any:
        """Return a valid value."""
        self._check(value)
        return value

    def apply_item(self, item: Item, _: PageContext) -> Item:
        """Return a valid item."""
        self._check(item)
        return item

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns unchanged."""
        return columns

    def _check(self, value: Any) -> None:
        from referencing.exceptions import Unresolvable

        try:
            error = next(self._validator.iter_errors(value), None)
        except RecursionError as deep:
            raise StepFailed("is nested too deep for the schema") from deep
        except re.error as wrong:
            raise StepFailed(
                f"cannot be checked: the schema has an invalid pattern {wrong.pattern!r}"
            ) from wrong
        except Unresolvable as lost:
            raise StepFailed(
                f"cannot be checked: the schema refers to {lost.ref!r}, which does not exist"
            ) from lost
        if error is not None:
            place = ".".join(map(str, error.absolute_path))
            raise StepFailed(f"is not valid{f' at {place}' if place else ''}: {error.message[:_LONGEST]}")


def _require_targets(schema: dict[str, Any]) -> None:
    """Refuse dangling references, which would reject every item. Skip schemas with `$id` or another draft,
    where only the validator can resolve references.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if "$schema" in schema or '"$id"' in json.dumps(schema):
        return
    resolver = Registry().with_resource("", DRAFT202012.create_resource(schema)).resolver()
    for ref in _references(schema, 0):
        try:
            resolver.lookup(ref)
        except Unresolvable as lost:
            raise InvalidOption("json_schema", f"it refers to {ref!r}, which does not exist") from lost


def _references(schema: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise InvalidOption("json_schema", "is nested too deep")
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
                yield inner
            yield from _references(inner, depth + 1)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner, depth + 1)
