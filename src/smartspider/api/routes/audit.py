"""The audit."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from smartspider.api.answers import answer, answers
from smartspider.api.house import Housed
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.services import audit
from smartspider.services.audit import AuditQuestion
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.listed import Listed

router = APIRouter(prefix="/api/audit", tags=["audit"])

Reader = Annotated[Principal, needs("audit", "read")]
Word = Annotated[str | None, Query(min_length=1, max_length=200)]


@router.get(
    "", name="list_audit", summary="What was done, newest first", **answers(Listed[AuditView], "Entries")
)
async def list_audit(
    house: Housed,
    _principal: Reader,
    *,
    action: Annotated[Word, Query(description="Only this: `task.changed`, `run.state`, ...")] = None,
    subject: Annotated[Word, Query(description="Only what was done to this: `task:3`, `run:7`, ...")] = None,
    actor: Annotated[Word, Query(description="Only what they did.")] = None,
    since: Annotated[
        str | None,
        Query(max_length=60, description="Only from this moment on.", examples=["2026-07-01T12:00:00Z"]),
    ] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Every write, who did it, and every rule of politeness that somebody turned off."""
    asked = AuditQuestion(action, subject, actor, since)
    return answer(await audit.entries(house.premises.audit, asked, cursor=cursor, limit=limit))


@router.get(
    "/verify",
    name="verify_audit",
    summary="Whether the audit is what was written",
    **answers(AuditCheckView, "What came of checking the whole chain"),
)
async def verify_audit(house: Housed, _principal: Reader) -> Response:
    """Reads the whole chain and names the first entry that was changed, removed or put in."""
    return answer(await audit.verify(house.premises.audit))
