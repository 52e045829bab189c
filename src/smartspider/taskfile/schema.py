"""The JSON Schema of the task file, for editors and the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from smartspider.taskfile.model.task import FUNCTIONS, LocalFunctions, Task

_EXAMPLE = {
    "name": "shop_prices",
    "entry_urls": ["https://shop.example.com/list"],
    "selectors": {
        "items": ".product",
        "fields": {"title": "h2::text", "price": {"expr": ".price::text", "required": True}},
    },
    "pagination": {"type": "next_link", "selector": "a.next"},
}


class _TaskSchema(GenerateJsonSchema):
    """Pydantic's generator, without titles that repeat a key."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Return False: only sections have a title."""
        return False

    def normalize_name(self, name: str) -> str:
        """Return the public name of a definition: `SinkSection` is `Sink`."""
        return super().normalize_name(name.removesuffix("Section"))

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Write the forms of a key as `anyOf`, for which editors give better errors."""
        forms = [self.generate_inner(choice) for choice in schema["choices"].values()]
        return {"anyOf": forms}

    def encode_default(self, dft: Any) -> Any:
        """Write a section's default as an empty object: its keys have their own defaults."""
        return {} if isinstance(dft, BaseModel) else super().encode_default(dft)


def task_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of everything `parse_task` accepts."""
    schema = Task.model_json_schema(schema_generator=_TaskSchema, by_alias=True)
    del schema["properties"][FUNCTIONS], schema["$defs"][LocalFunctions.__name__]
    return {"$schema": _TaskSchema.schema_dialect, **schema, "examples": [_EXAMPLE]}
