"""Answers: views as JSON, and how the OpenAPI document gets to know them."""

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
    "headers": {"Location": {"description": "Where it is.", "schema": {"type": "string"}}}
}
"""For `answers(..., **LOCATION)`: what was created or started can be looked at there."""
ETAG: dict[str, Any] = {
    "headers": {"ETag": {"description": "The version, for If-Match.", "schema": {"type": "string"}}}
}


def answer(view: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A view as the answer to a request."""
    return Response(_encode(view), status, dict(headers or {}), JSON)


def no_answer(headers: Mapping[str, str] | None = None) -> Response:
    """It is done, and there is nothing to tell."""
    return Response(None, 204, dict(headers or {}))


def answers(
    view: Any, description: str, *, status: int = 200, example: Any = None, **more: Any
) -> dict[str, Any]:
    """What a route's decorator says about its answer: `@router.get(path, **answers(View, "..."))`."""
    return {
        "status_code": status,
        "response_class": Response,
        "responses": {status: described(view, description, example=example, **more)},
    }


def answers_nothing(description: str) -> dict[str, Any]:
    """The same for a route that answers 204."""
    return {"status_code": 204, "response_class": Response, "responses": {204: {"description": description}}}


def described(view: Any, description: str, *, example: Any = None, **more: Any) -> dict[str, Any]:
    """One response of the document."""
    _views[name_of(view)] = view
    content: dict[str, Any] = {"schema": {"$ref": REF + name_of(view)}}
    if example is not None:
        content["example"] = example
    return {"description": description, "content": {JSON: content}, **more}


def name_of(view: Any) -> str:
    """The name of a view's schema."""
    if get_origin(view) is None:
        return str(view.__name__)
    return f"{get_origin(view).__name__}_{'_'.join(name_of(part) for part in get_args(view))}_"


def view_schemas() -> dict[str, Any]:
    """The schemas of all views that routes answer with, and of what they hold."""
    _, components = msgspec.json.schema_components(list(_views.values()), ref_template=REF + "{name}")
    return components
