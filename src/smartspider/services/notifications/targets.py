"""Notification targets: who receives which notifications."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.datetimes import format_time
from smartspider.core.errors import DeliveryFailed, NotBuilt, NotFound, Problem, RequestInvalid
from smartspider.core.notifications import NotificationEvent, NotificationTarget
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.plugins.kinds import CHANNEL
from smartspider.plugins.registry import known
from smartspider.services.inputs import check_text, parse_cursor, to_page
from smartspider.services.notifications.notifier import Channel, Notifier, numbered_message
from smartspider.services.quotas import check_quota
from smartspider.views.listed import Listed
from smartspider.views.notifications import (
    ChannelView,
    DeliveryView,
    NotificationTargetMade,
    NotificationTargetView,
    TriedView,
    delivery_view,
    target_made,
    target_view,
)

MAX_ADDRESS = 2000


class TargetChange(msgspec.Struct, frozen=True):
    """A change of a target; what is None stays."""

    address: str | None = None
    events: Sequence[NotificationEvent] | None = None
    task: TaskRecord | None = None
    is_of_all_tasks: bool = False
    is_enabled: bool | None = None


async def create_target(
    installation: Installation,
    principal: Principal,
    kind: str,
    address: str,
    *,
    events: Sequence[NotificationEvent],
    task: TaskRecord | None,
) -> NotificationTargetMade:
    """Create a target; the signing secret is in this answer only."""
    require(principal, "notifications", "write", owner=None if task is None else task.owner)
    channel = _checked(installation, kind, address)
    await check_quota(installation, principal, "notifications")
    target = await installation.notifications.add_target(
        kind,
        address,
        tuple(dict.fromkeys(events)),
        task_id=None if task is None else task.id,
        actor=principal.name,
    )
    return target_made(await _view(installation, target, in_full=True), channel.secret(target.id))


def _checked(installation: Installation, kind: str, address: str) -> Channel:
    """Return the channel of a kind, if it is installed and can deliver to an address."""
    check_text("address", address)
    if len(address) > MAX_ADDRESS:
        raise address_invalid(f"is longer than {MAX_ADDRESS} characters", "use a shorter one")
    try:
        channel = Notifier(installation).channel(kind)
    except (NotFound, NotBuilt) as error:
        problem = Problem("kind", error.message, error.hint)
        raise RequestInvalid(error.message, (problem,), hint=error.hint) from error
    channel.check_address(address)
    return channel


def list_channels(installation: Installation) -> Listed[ChannelView]:
    """Return what each kind of target needs, and whether it can be used."""
    notifier = Notifier(installation)
    return Listed([_channel_view(kind, notifier) for kind in known(CHANNEL)], None)


def _channel_view(kind: str, notifier: Notifier) -> ChannelView:
    """Return the view of a channel. Target 0 stands for any target."""
    try:
        channel = notifier.channel(kind)
    except NotBuilt as error:
        return ChannelView(kind, "url", "", is_signed=False, usable=False, hint=error.line)
    address, lacks = channel.address, channel.lacks()
    return ChannelView(
        *(kind, address.form, address.example),
        is_signed=channel.secret(0) is not None,
        usable=not lacks,
        hint=lacks,
    )


async def change_target(
    installation: Installation, principal: Principal, target_id: int, change: TargetChange
) -> NotificationTargetView:
    """Change what is given of a target; the rest stays, its signing secret too."""
    target = await owned_target(installation, principal, target_id)
    if change.address is not None:
        _checked(installation, target.kind, change.address)
    if change.task is not None:
        require(principal, "notifications", "write", owner=change.task.owner)
    changed = await installation.notifications.change_target(
        target.id,
        actor=principal.name,
        address=change.address,
        events=None if change.events is None else tuple(dict.fromkeys(change.events)),
        task_id=None if change.task is None else change.task.id,
        is_of_all_tasks=change.is_of_all_tasks,
        is_enabled=change.is_enabled,
    )
    return await _view(installation, changed, in_full=True)


async def list_targets(
    installation: Installation, principal: Principal, *, cursor: str | None, limit: int
) -> Listed[NotificationTargetView]:
    """Return targets as the principal may see them, oldest first."""
    found = await installation.notifications.find_targets(after=parse_cursor(cursor) or 0, limit=limit + 1)
    tasks = {one.task_id for one in found if one.task_id is not None}
    names: dict[int | None, str] = {one: (await installation.tasks.get(one)).name for one in tasks}
    return to_page(
        found,
        limit,
        lambda one: one.id,
        lambda one: target_view(one, names.get(one.task_id), in_full=principal.owns(one.created_by)),
    )


async def list_deliveries(
    installation: Installation, target_id: int, *, cursor: str | None, limit: int
) -> Listed[DeliveryView]:
    """Return the notifications of a target, newest first."""
    target = await installation.notifications.get_target(target_id)
    found = await installation.notifications.find(
        target_id=target.id, before=parse_cursor(cursor), limit=limit + 1
    )
    return to_page(found, limit, lambda one: one.id, delivery_view)


async def show_target(
    installation: Installation, principal: Principal, target_id: int
) -> NotificationTargetView:
    """Return a target; its address is masked for other users than its owner and admins."""
    target = await installation.notifications.get_target(target_id)
    return await _view(installation, target, in_full=principal.owns(target.created_by))


async def _view(
    installation: Installation, target: NotificationTarget, *, in_full: bool
) -> NotificationTargetView:
    task = None if target.task_id is None else (await installation.tasks.get(target.task_id)).name
    return target_view(target, task, in_full=in_full)


async def owned_target(
    installation: Installation, principal: Principal, target_id: int
) -> NotificationTarget:
    """Return a target that the principal may change."""
    target = await installation.notifications.get_target(target_id)
    require(principal, "notifications", "write", owner=target.created_by)
    return target


async def delete_target(installation: Installation, principal: Principal, target_id: int) -> None:
    """Delete a target with its pending notifications."""
    target = await owned_target(installation, principal, target_id)
    await installation.notifications.delete_target(target.id, actor=principal.name)


async def send_test(installation: Installation, principal: Principal, target_id: int) -> TriedView:
    """Send one test message at once, without retries."""
    target = await owned_target(installation, principal, target_id)
    body = b'{"event":"test","at":"%b","run":{}}' % format_time(installation.clock.now()).encode()
    try:
        await Notifier(installation).deliver(target, numbered_message("test", body))
    except DeliveryFailed as error:
        tested = TriedView(delivered=False, error=error.message)
    else:
        tested = TriedView(delivered=True, error="")
    await installation.audit.append(
        principal.name,
        "notification.tested",
        f"notification:{target.id}",
        {"delivered": tested.delivered},
    )
    return tested


def address_invalid(reason: str, hint: str) -> RequestInvalid:
    """Return the error for an address that a channel cannot use."""
    return RequestInvalid(f"the address {reason}", (Problem("address", reason, hint),), hint=hint)
