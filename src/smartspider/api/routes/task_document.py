"""Task files as request bodies: JSON or YAML."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from smartspider.api.middleware.authentication import PRINCIPAL
from smartspider.api.responses import REF
from smartspider.core.errors import Problem, TaskInvalid
from smartspider.services.tasks.checks import TaskDocument

YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
UNSPECIFIED = frozenset({"", "application/octet-stream", "application/x-www-form-urlencoded"})
"""Content types that clients such as curl send if none is given."""
MAX_YAML_BYTES = 262_144
"""Parsing YAML takes a hundred times as long as JSON."""

TASK_EXAMPLE: dict[str, Any] = {
    "name": "shop_prices",
    "entry_urls": ["https://shop.example.com/list"],
    "pagination": {"type": "next_link", "selector": "a.next"},
    "selectors": {
        "items": ".product",
        "fields": {"title": "h2::text", "price": {"expr": ".price::text", "steps": ["number"]}},
    },
    "concurrency": 8,
}
_TASK_YAML = """name: shop_prices
entry_urls: [https://shop.example.com/list]
selectors:
  items: .product
  fields: {title: "h2::text"}
"""

TASK_BODY: dict[str, Any] = {
    "requestBody": {
        "description": "A task file.",
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": f"{REF}Task"},
                "examples": {"list": {"summary": "A paginated list", "value": TASK_EXAMPLE}},
            },
            "application/yaml": {"schema": {"type": "string"}, "example": _TASK_YAML},
        },
    }
}
"""Describes the body in the OpenAPI document."""


SMALL_JSON = 16_384
"""Characters of JSON that are read at once."""


async def _document(request: Request) -> object:
    from smartspider.taskfile.document import read_document

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    if not (is_json or kind in YAML_TYPES or kind in UNSPECIFIED):
        raise HTTPException(415, f"send a task as application/json or application/yaml, not {kind[:80]}")
    body = await request.body()
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("", f"byte {error.start} is not UTF-8", "send the task as UTF-8")
        raise TaskInvalid("the body is not UTF-8", (problem,), hint=problem.hint) from error
    run = partial(request.app.state.services.installation.offload.run, holder=_holder(request))
    if is_json or (kind in UNSPECIFIED and text.lstrip().startswith(("{", "["))):
        if len(text) <= SMALL_JSON:
            return read_document(text, "body.json")
        return await run(read_document, text, "body.json")
    if len(body) > MAX_YAML_BYTES:
        problem = Problem("", f"YAML of {len(body)} bytes is too large", "send it as JSON")
        raise TaskInvalid(f"the body is larger than {MAX_YAML_BYTES} bytes", (problem,), hint=problem.hint)
    return await run(read_document, text, "body.yaml")


def _holder(request: Request) -> str:
    return str(request.scope["state"][PRINCIPAL].name)


async def _sent(request: Request) -> TaskDocument:
    try:
        return TaskDocument(await _document(request))
    except TaskInvalid as error:  # a dry run reports it, all other calls raise it
        return TaskDocument(None, error)


SentTask = Annotated[TaskDocument, Depends(_sent)]
