"""Notices: who is told, by webhook or email, what became of runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from smartspider.api.answers import LOCATION, answer, answers, answers_nothing, no_answer
from smartspider.api.desk import Desked
from smartspider.api.house import Housed
from smartspider.api.idempotency import once, once_without_secret
from smartspider.api.ids import Id
from smartspider.api.paging import Cursor, Limit
from smartspider.api.security import needs
from smartspider.core.access import Principal
from smartspider.core.notices import NoticeKind, NoticeName
from smartspider.services import notices
from smartspider.services.paging import number
from smartspider.services.tasks import find_task
from smartspider.views.listed import Listed
from smartspider.views.notices import DeliveryView, NoticeTargetMade, NoticeTargetView, TriedView
from smartspider.wiring.posting import post_of

router = APIRouter(prefix="/api/notices", tags=["notices"])

Reader = Annotated[Principal, needs("notices", "read")]
Writer = Annotated[Principal, needs("notices", "write")]


class TargetBody(BaseModel):
    """Somebody who is to be told."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "kind": "webhook",
                    "address": "https://hooks.example.com/smartspider",
                    "events": ["run.failed", "run.few_rows"],
                },
                {"kind": "email", "address": "ann@example.com", "events": ["run.failed"], "task_id": "1"},
            ]
        },
    )

    kind: NoticeKind
    address: str = Field(min_length=3, max_length=2000, description="A URL, or an email address.")
    events: list[NoticeName] = Field(min_length=1, max_length=20, description="What to tell.")
    task_id: str | None = Field(
        None, min_length=1, max_length=200, description="Only of this task, by its id or name."
    )


@router.get(
    "",
    name="list_notices",
    summary="Who is told, oldest first",
    **answers(Listed[NoticeTargetView], "A page"),
)
async def list_notices(
    house: Housed, principal: Reader, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """All targets."""
    return answer(await notices.find(house.premises.notices, principal, cursor=cursor, limit=limit))


@router.post(
    "",
    name="create_notice",
    summary="Tell somebody what becomes of runs",
    **answers(NoticeTargetMade, "The target, with the secret of its signatures", status=201, **LOCATION),
)
@once_without_secret
async def create_notice(body: TargetBody, house: Housed, desk: Desked, principal: Writer) -> Response:
    """By a signed webhook, or by email."""
    task = None if body.task_id is None else await find_task(desk.tasks, body.task_id)
    made = await notices.create(
        house.premises.notices,
        principal,
        (body.kind, body.address, body.events),
        task,
        reach=notices.Reach(desk.policy, has_mail=bool(house.settings.smtp_url)),
        secret_of=house.keys.webhook_secret,
    )
    return answer(made, 201, {"Location": f"/api/notices/{made.id}"})


@router.get("/{notice_id}", name="get_notice", summary="A target", **answers(NoticeTargetView, "The target"))
async def get_notice(notice_id: Id, house: Housed, principal: Reader) -> Response:
    """Who is told what."""
    target = await house.premises.notices.get_target(number(notice_id, "notice target"))
    return answer(notices.seen_by(principal, target))


@router.delete(
    "/{notice_id}",
    name="delete_notice",
    summary="Tell somebody nothing more",
    **answers_nothing("It is gone, with what waited for it"),
)
async def delete_notice(notice_id: Id, house: Housed, principal: Writer) -> Response:
    """Forget a target."""
    await notices.delete(house.premises.notices, principal, number(notice_id, "notice target"))
    return no_answer()


@router.post(
    "/{notice_id}/test",
    name="test_notice",
    summary="Send a notice for trying out",
    **answers(TriedView, "Whether it arrived"),
)
@once
async def test_notice(notice_id: Id, house: Housed, principal: Writer) -> Response:
    """One try, at once."""
    target = await notices.to_change(house.premises.notices, principal, number(notice_id, "notice target"))
    post = post_of(house.settings, house.keys, house.premises.clock)
    tried = await notices.try_out(
        target, post, clock=house.premises.clock, audit=house.premises.audit, actor=principal.name
    )
    return answer(tried)


@router.get(
    "/{notice_id}/deliveries",
    name="list_deliveries",
    summary="What was told, newest first",
    **answers(Listed[DeliveryView], "A page"),
)
async def list_deliveries(
    notice_id: Id, house: Housed, _principal: Reader, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Notices to a target: delivered, waiting for another try, or given up."""
    id_ = number(notice_id, "notice target")
    return answer(await notices.deliveries(house.premises.notices, id_, cursor=cursor, limit=limit))
