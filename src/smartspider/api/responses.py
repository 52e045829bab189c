"""Responses: views as JSON, and their description in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec
from starlette.responses import Response

from smartspider.views.problem import ProblemView

REF = "#/components/schemas/"
JSON = "application/json"
_encode = msgspec.json.Encoder().encode
_views: dict[str, Any] = {ProblemView.__name__: ProblemView}

LOCATION: dict[str, Any] = {
    "Location": {"description": "The URL of the resource.", "schema": {"type": "string"}}
}
ETAG: dict[str, Any] = {"ETag": {"description": "The version, for If-Match.", "schema": {"type": "string"}}}


def json_response(view: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a view as a response."""
    return Response(_encode(view), status, dict(headers or {}), JSON)


def empty_response() -> Response:
    """Return a 204 response."""
    return Response(None, 204)


def document_response(view: Any, description: str, *, example: Any = None, **more: Any) -> dict[str, Any]:
    """Describe a response in the OpenAPI document, and add its view to the schemas."""
    _views[schema_name(view)] = view
    content: dict[str, Any] = {"schema": {"$ref": REF + schema_name(view)}}
    if example is not None:
        content["example"] = example
    return {"description": description, "content": {JSON: content}, **more}


def schema_name(view: Any) -> str:
    """Return the name of a view's schema."""
    if get_origin(view) is None:
        return str(view.__name__)
    return f"{get_origin(view).__name__}_{'_'.join(schema_name(part) for part in get_args(view))}_"


def view_schemas() -> dict[str, Any]:
    """Return the schemas of all views in responses, and of the types they contain."""
    _, components = msgspec.json.schema_components(list(_views.values()), ref_template=REF + "{name}")
    return components
