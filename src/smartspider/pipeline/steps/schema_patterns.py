"""The keywords of JSON Schema that hold patterns, searched in bounded time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smartspider.core.patterns.pattern import user_pattern


def _pattern(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and user_pattern(pattern).search(value) is None:
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: dict[str, Any], value: Any, _: Any) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, schema in patterns.items():
        for name, inner in value.items():
            if user_pattern(pattern).search(name) is not None:
                yield from validator.descend(inner, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    others = [
        name
        for name in value
        if name not in known and all(user_pattern(pattern).search(name) is None for pattern in patterns)
    ]
    if validator.is_type(allowed, "object"):
        for name in others:
            yield from validator.descend(value[name], allowed, path=name)
    elif not allowed and others:
        named = ", ".join(map(repr, others))
        yield ValidationError(f"additional properties are not allowed: {named}")


def with_user_patterns(validator: Any) -> Any:
    """Return a validator class whose patterns are bounded."""
    from jsonschema import validators

    keywords = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    extend: Any = validators.extend
    return extend(validator, keywords)
