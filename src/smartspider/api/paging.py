"""Lists a page at a time: `limit` and `cursor` in, `items` and `next` out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

MAX_LIMIT = 1000

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]
