"""The app: routes, errors, headers, and the OpenAPI document."""

from __future__ import annotations

import importlib
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from smartspider import __version__
from smartspider.api import problems
from smartspider.api.answers import REF, view_schemas
from smartspider.views.problem import ProblemView
from smartspider.wiring.house import House

ROUTES = ("runs",)
"""Files of `api/routes`, in the order of the document; each has a `router`."""


def create_app(house: House) -> FastAPI:
    """The API of a house."""
    app = FastAPI(
        title="SmartSpider",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url="/api/docs",
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.house = house
    problems.install(app)
    for name in ROUTES:
        router: APIRouter = importlib.import_module(f"smartspider.api.routes.{name}").router
        app.include_router(router)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]  # FastAPI's way to have one's own
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once: FastAPI's, with the views and the problems."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, openapi_version="3.1.0", routes=app.routes
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.update(view_schemas())
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        problem = {"schema": {"$ref": f"{REF}{ProblemView.__name__}"}}
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
                operation["responses"]["default"] = {
                    "description": "A problem (RFC 9457)",
                    "content": {problems.MEDIA_TYPE: problem},
                }
        app.openapi_schema = document
    return app.openapi_schema
