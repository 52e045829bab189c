"""The schema of task files."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from fastapi import APIRouter
from starlette.responses import Response

router = APIRouter(prefix="/api/schema", tags=["operations"])


@router.get(
    "/task",
    name="get_task_schema",
    summary="The JSON Schema of task files",
    response_class=Response,
    responses={
        200: {
            "description": "JSON Schema, draft 2020-12",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def get_task_schema() -> Response:
    """For editors and other programs; open to all."""
    return Response(_schema(), media_type="application/json")


@lru_cache(maxsize=1)
def _schema() -> bytes:
    from smartspider.taskfile.schema import task_schema

    return msgspec.json.encode(task_schema())
