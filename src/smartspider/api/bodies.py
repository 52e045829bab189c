"""Task files as bodies: JSON or YAML."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from smartspider.api.answers import REF
from smartspider.core.errors import Problem, TaskInvalid

YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
UNSAID = frozenset({"", "application/octet-stream", "application/x-www-form-urlencoded"})
"""What programs send that do not say what they send, curl among them."""
LARGEST_YAML = 262_144
"""YAML takes a hundred times longer to read than JSON."""

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
                "examples": {"list": {"summary": "A list over several pages", "value": TASK_EXAMPLE}},
            },
            "application/yaml": {"schema": {"type": "string"}, "example": _TASK_YAML},
        },
    }
}
"""For the OpenAPI document: `@router.post(..., openapi_extra=TASK_BODY)`."""


async def _document(request: Request) -> object:
    from smartspider.taskfile.document import read_document

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    if not (is_json or kind in YAML_TYPES or kind in UNSAID):
        raise HTTPException(415, f"a task is sent as application/json or application/yaml, not {kind[:80]}")
    body = await request.body()
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("", f"byte {error.start} is not UTF-8", "send the task as UTF-8")
        raise TaskInvalid("the body is not UTF-8", (problem,), hint=problem.hint) from error
    if is_json or (kind in UNSAID and text.lstrip().startswith(("{", "["))):
        return read_document(text, "body.json")
    if len(body) > LARGEST_YAML:
        problem = Problem("", f"YAML of {len(body)} bytes is too large", "send it as JSON")
        raise TaskInvalid(f"the body is larger than {LARGEST_YAML} bytes", (problem,), hint=problem.hint)
    return await asyncio.to_thread(read_document, text, "body.yaml")


class TaskDocument:
    """A task as it was sent, read but not checked; or why it cannot be read."""

    def __init__(self, document: object, error: TaskInvalid | None = None) -> None:
        self._document = document
        self._error = error

    def value(self) -> object:
        """The document; raises `TaskInvalid`."""
        if self._error is not None:
            raise self._error
        return self._document


async def _sent(request: Request) -> TaskDocument:
    try:
        return TaskDocument(await _document(request))
    except TaskInvalid as error:  # a dry run answers it, everything else raises it
        return TaskDocument(None, error)


SentTask = Annotated[TaskDocument, Depends(_sent)]
