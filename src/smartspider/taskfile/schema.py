"""The JSON Schema of the task file, for editors and for whoever asks the API."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from smartspider.taskfile.model.task import Task

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
    """Pydantic's generator, without the titles that only repeat a key."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Keys speak for themselves; only whole parts have a title."""
        return False

    def normalize_name(self, name: str) -> str:
        """Return the public name of a definition: `SinkSection` is `Sink`."""
        return super().normalize_name(name.removesuffix("Section"))

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """The forms of a key as `anyOf`: an editor then says what is wrong with the form that is meant."""
        forms = [self.generate_inner(choice) for choice in schema["choices"].values()]
        return {"anyOf": forms}

    def encode_default(self, dft: Any) -> Any:
        """A section's default is the empty object: its keys show their own defaults."""
        return {} if isinstance(dft, BaseModel) else super().encode_default(dft)


def task_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12, of everything `parse_task` accepts."""
    schema = Task.model_json_schema(schema_generator=_TaskSchema, by_alias=True)
    return {"$schema": _TaskSchema.schema_dialect, **schema, "examples": [_EXAMPLE]}
