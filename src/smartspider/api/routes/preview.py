"""Rules tried on a page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.views.preview import PreviewView
from smartspider.wiring.looking import look_at_page

router = APIRouter(prefix="/api/preview", tags=["preview"])


class PreviewAsked(BaseModel):
    """A URL and one of `rules`, `selectors` and `task`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "url": "https://shop.example.com/list",
                    "selectors": {"items": ".product", "fields": {"title": "h2::text"}},
                },
                {"url": "https://shop.example.com/list", "rules": "h1::text"},
            ]
        },
    )

    url: str = Field(max_length=8000, description="What to fetch.")
    rules: str | dict[str, Any] | list[Any] | None = Field(
        default=None,
        description="One selector (CSS, or XPath when it begins like a path), a rule, rules by field name, "
        "or a whole task.",
    )
    selectors: dict[str, Any] | None = Field(
        default=None, description="`items` and `fields`, as a task has them."
    )
    task: dict[str, Any] | None = Field(
        default=None, description="A task, or parts of one; its entry URLs are passed over."
    )
    page: str = Field(default="default", max_length=100, description="The page type whose rules are tried.")


@router.post(
    "",
    name="preview_page",
    summary="Fetch a page and try rules on it",
    **answers(
        PreviewView,
        "What was found",
        example={
            "url": "https://shop.example.com/list",
            "status": 200,
            "engine": "lexbor",
            "items": [{"title": "Tea"}],
            "rejected": [],
            "counts": {},
            "warnings": [],
        },
    ),
)
async def preview_page(
    asked: PreviewAsked, house: Housed, principal: Annotated[Principal, needs("tasks", "write")]
) -> Response:
    """With the code that reads pages in a crawl, through the same gates; nothing is kept."""
    given = {"rules": asked.rules, "selectors": asked.selectors, "task": asked.task}
    return answer(await look_at_page(house, principal, asked.url, given, asked.page))
