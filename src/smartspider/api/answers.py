"""Answers: views as JSON, and how the OpenAPI document gets to know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec
from starlette.responses import Response

from smartspider.views.problem import ProblemView

REF = "#/components/schemas/"
_encode = msgspec.json.Encoder().encode
_views: dict[str, Any] = {ProblemView.__name__: ProblemView}


def answer(view: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A view as the answer to a request."""
    return Response(_encode(view), status, dict(headers or {}), "application/json")


def answers(view: Any, description: str, *, status: int = 200, **more: Any) -> dict[str, Any]:
    """What a route's decorator says about its answer: `@router.get(path, **answers(View, "..."))`."""
    _views[name_of(view)] = view
    content = {"application/json": {"schema": {"$ref": REF + name_of(view)}}}
    return {
        "status_code": status,
        "response_class": Response,
        "responses": {status: {"description": description, "content": content, **more}},
    }


def name_of(view: Any) -> str:
    """The name of a view's schema."""
    if get_origin(view) is None:
        return str(view.__name__)
    return f"{get_origin(view).__name__}_{'_'.join(name_of(part) for part in get_args(view))}_"


def view_schemas() -> dict[str, Any]:
    """The schemas of all views that routes answer with, and of what they hold."""
    _, components = msgspec.json.schema_components(list(_views.values()), ref_template=REF + "{name}")
    return components
