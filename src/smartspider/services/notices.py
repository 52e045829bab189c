"""Who is told when something becomes of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import Problem, RequestInvalid, Undelivered
from smartspider.core.notices import SET_MAIL, NoticeKind, NoticeName, NoticeTarget
from smartspider.core.tasks import TaskRecord
from smartspider.core.urls import normal_url
from smartspider.fetch.addresses import AddressPolicy
from smartspider.interfaces.audit_log import AuditLog
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.notice_store import NoticeStore
from smartspider.services.free_text import check_text
from smartspider.services.paging import page_of, place_of
from smartspider.services.post import Post, letter
from smartspider.views.listed import Listed
from smartspider.views.notices import (
    DeliveryView,
    NoticeTargetMade,
    NoticeTargetView,
    TriedView,
    delivery_view,
    target_made,
    target_view,
)
from smartspider.views.times import told_at

LONGEST = 2000


class Reach(msgspec.Struct, frozen=True):
    """What notices can get to from here: by webhook these addresses, by email anybody or nobody."""

    policy: AddressPolicy
    has_mail: bool


_MAIL = re.compile(r"[^\s@<>,;:\"'()\[\]\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.\-]{0,250}[A-Za-z0-9])?")


async def create(
    notices: NoticeStore,
    principal: Principal,
    wanted: tuple[NoticeKind, str, Sequence[NoticeName]],
    task: TaskRecord | None,
    *,
    reach: Reach,
    secret_of: Callable[[int], str],
) -> NoticeTargetMade:
    """A new target; the secret of a webhook is told this one time."""
    require(principal, "notices", "write", owner=None if task is None else task.owner)
    kind, address, events = wanted
    target = await notices.add_target(
        kind,
        _checked(kind, address, reach),
        tuple(dict.fromkeys(events)),
        task_id=None if task is None else task.id,
        actor=principal.name,
    )
    return target_made(target, secret_of(target.id) if kind == "webhook" else None)


async def find(
    notices: NoticeStore, principal: Principal, *, cursor: str | None, limit: int
) -> Listed[NoticeTargetView]:
    """All targets as somebody may see them, oldest first."""
    found = await notices.find_targets(after=place_of(cursor) or 0, limit=limit + 1)
    return page_of(found, limit, lambda one: one.id, lambda one: seen_by(principal, one))


async def deliveries(
    notices: NoticeStore, target_id: int, *, cursor: str | None, limit: int
) -> Listed[DeliveryView]:
    """What a target was told, newest first: delivered, waiting for another try, or given up."""
    target = await notices.get_target(target_id)
    found = await notices.find(target_id=target.id, before=place_of(cursor), limit=limit + 1)
    return page_of(found, limit, lambda one: one.id, delivery_view)


def seen_by(principal: Principal, target: NoticeTarget) -> NoticeTargetView:
    """A target as somebody may see it."""
    return target_view(target, in_full=principal.owns(target.created_by))


async def to_change(notices: NoticeStore, principal: Principal, target_id: int) -> NoticeTarget:
    """A target that the principal may change."""
    target = await notices.get_target(target_id)
    require(principal, "notices", "write", owner=target.created_by)
    return target


async def delete(notices: NoticeStore, principal: Principal, target_id: int) -> None:
    """Tell a target nothing more."""
    target = await to_change(notices, principal, target_id)
    await notices.delete_target(target.id, actor=principal.name)


async def try_out(
    target: NoticeTarget, post: Post, *, clock: Clock, audit: AuditLog, actor: str
) -> TriedView:
    """Send a notice for trying out, once."""
    body = b'{"event":"test","at":"%b","run":{}}' % told_at(clock.now()).encode()
    try:
        await post.deliver(target, letter("test", body))
    except Undelivered as error:
        tested = TriedView(delivered=False, error=error.message)
    else:
        tested = TriedView(delivered=True, error="")
    await audit.append(actor, "notice.tested", f"notice:{target.id}", {"delivered": tested.delivered})
    return tested


def _checked(kind: NoticeKind, address: str, reach: Reach) -> str:
    check_text("address", address)
    if len(address) > LONGEST:
        raise _wrong(f"is longer than {LONGEST} characters", "give a shorter one")
    if kind == "email":
        if _MAIL.fullmatch(address) is None:
            raise _wrong("is not an email address", "one address, like ann@example.com")
        if not reach.has_mail:
            reason = "is email, and no mail server is set"
            problem = Problem("kind", reason, SET_MAIL)
            raise RequestInvalid(f"the kind {reason}; {SET_MAIL}", (problem,), hint=SET_MAIL)
        return address
    if not address.lower().startswith(("http://", "https://")) or normal_url(address) is None:
        raise _wrong("is not an http(s) URL", "like https://hooks.example.com/smartspider")
    refusal = reach.policy.refuse_url(address)
    if refusal is not None:
        raise refusal
    return address


def _wrong(reason: str, hint: str) -> RequestInvalid:
    return RequestInvalid(f"the address {reason}", (Problem("address", reason, hint),), hint=hint)
