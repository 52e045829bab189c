"""Why a URL was or was not fetched."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services.paging import number
from smartspider.views.explain import ExplanationView
from smartspider.wiring.explaining import explain_url

router = APIRouter(prefix="/api/explain", tags=["explain"])


@router.get(
    "", name="explain_url", summary="Why a URL was or was not fetched", **answers(ExplanationView, "Why")
)
async def explain(
    house: Housed,
    _principal: Annotated[Principal, needs("runs", "read")],
    url: Annotated[str, Query(min_length=1, max_length=8192, description="The URL, with its scheme.")],
    run_id: Annotated[str | None, Query(max_length=40, description="In this run; else the newest.")] = None,
) -> Response:
    """Where it was found, how it was compared, what scope and robots.txt say, what came of it."""
    which = None if run_id is None else number(run_id, "run")
    return answer(await explain_url(house.premises, url, which))
