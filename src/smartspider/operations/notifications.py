"""Notification targets and deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from smartspider.core.notifications import NotificationEvent
from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.services.inputs import parse_id
from smartspider.views.listed import Listed
from smartspider.views.notifications import (
    ChannelView,
    DeliveryView,
    NotificationTargetMade,
    NotificationTargetView,
    TriedView,
)
from smartspider.views.params import Cursor, Id, IdempotencyKey, Limit, body

TARGET = "/api/notifications/{notification_id}"


class NotificationOperations(Operations):
    """Notifications about runs, by webhook, email or Slack."""

    @operation(
        "GET",
        "/api/notifications",
        needs=("notifications", "read"),
        summary="List notification targets",
        answer="A page of targets",
    )
    async def list_notifications(
        self, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[NotificationTargetView]:
        """List notification targets, oldest first."""
        from smartspider.services.notifications import targets

        return await targets.list_targets(self.installation, self.principal, cursor=cursor, limit=limit)

    @operation(
        "POST",
        "/api/notifications",
        needs=("notifications", "write"),
        summary="Create a notification target",
        answer="The target, with its signing secret",
        status=201,
        location="/api/notifications/{id}",
        replay=Replay(is_secret=True),
        body=Body(
            "TargetBody",
            "A new notification target.",
            examples=(
                {
                    "kind": "webhook",
                    "address": "https://hooks.example.com/smartspider",
                    "events": ["run.failed", "run.few_rows"],
                },
                {"kind": "email", "address": "ann@example.com", "events": ["run.failed"], "task_id": "1"},
            ),
        ),
    )
    async def create_notification(
        self,
        *,
        kind: Annotated[
            str, body("A channel: webhook, email, slack, or one of a plug-in.", min_length=1, max_length=100)
        ],
        address: Annotated[str, body("A URL, or an email address.", min_length=3, max_length=2000)],
        events: Annotated[
            Sequence[NotificationEvent],
            body("The events to send.", wire=list[NotificationEvent], min_length=1, max_length=20),
        ],
        task_id: Annotated[
            str | None, body("Only events of this task: its id or name.", min_length=1, max_length=200)
        ] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> NotificationTargetMade:
        """Create a target that receives events by signed webhook, email or Slack. The response contains the
        signing secret, which is not shown again.
        """
        from smartspider.services.notifications import targets
        from smartspider.services.tasks.tasks import find_task

        task = None if task_id is None else await find_task(self.installation, task_id)
        return await targets.create_target(
            self.installation, self.principal, kind, address, events=events, task=task
        )

    @operation(
        "GET",
        "/api/notifications/channels",
        needs=("notifications", "read"),
        summary="List the kinds of notification targets",
        answer="What each kind needs",
    )
    async def list_channels(self) -> Listed[ChannelView]:
        """Return what the address of each kind of target is, and what must be set before it can be used."""
        from smartspider.services.notifications import targets

        return targets.list_channels(self.installation)

    @operation(
        "GET",
        TARGET,
        needs=("notifications", "read"),
        summary="Get a notification target",
        answer="The target",
    )
    async def get_notification(self, notification_id: Id) -> NotificationTargetView:
        """Return a notification target."""
        from smartspider.services.notifications import targets

        id_ = parse_id(notification_id, "notification target")
        return await targets.show_target(self.installation, self.principal, id_)

    @operation(
        "PATCH",
        TARGET,
        needs=("notifications", "write"),
        summary="Update a notification target",
        answer="The updated target",
        body=Body(
            "TargetUpdate",
            "Fields to change; omitted fields stay unchanged. `kind` and the signing secret never change.",
            examples=({"enabled": False}, {"events": ["run.failed"], "task_id": ""}),
        ),
    )
    async def change_notification(
        self,
        notification_id: Id,
        *,
        address: Annotated[
            str | None, body("A URL, or an email address.", min_length=3, max_length=2000)
        ] = None,
        events: Annotated[
            Sequence[NotificationEvent] | None,
            body("The events to send.", wire=list[NotificationEvent] | None, min_length=1, max_length=20),
        ] = None,
        task_id: Annotated[
            str | None,
            body("Only events of this task: its id or name; empty: of all tasks.", max_length=200),
        ] = None,
        enabled: Annotated[bool | None, body("False pauses the target.")] = None,
    ) -> NotificationTargetView:
        """Change, pause or resume a target. A paused target receives nothing; what was waiting for it is sent
        when it is resumed, and events of the time in between are not.
        """
        from smartspider.services.notifications import targets
        from smartspider.services.tasks.tasks import find_task

        task = await find_task(self.installation, task_id) if task_id else None
        change = targets.TargetChange(address, events, task, task_id == "", enabled)
        id_ = parse_id(notification_id, "notification target")
        return await targets.change_target(self.installation, self.principal, id_, change)

    @operation(
        "DELETE",
        TARGET,
        needs=("notifications", "write"),
        summary="Delete a notification target",
        answer="The target and its pending notifications were deleted",
        status=204,
    )
    async def delete_notification(self, notification_id: Id) -> None:
        """Delete a notification target with its pending notifications."""
        from smartspider.services.notifications import targets

        id_ = parse_id(notification_id, "notification target")
        await targets.delete_target(self.installation, self.principal, id_)

    @operation(
        "POST",
        f"{TARGET}/test",
        needs=("notifications", "write"),
        summary="Send a test notification",
        answer="The result",
        replay=Replay(),
    )
    async def test_notification(
        self, notification_id: Id, *, idempotency_key: IdempotencyKey = None
    ) -> TriedView:
        """Send one test notification at once, without retries."""
        from smartspider.services.notifications import targets

        id_ = parse_id(notification_id, "notification target")
        return await targets.send_test(self.installation, self.principal, id_)

    @operation(
        "GET",
        f"{TARGET}/deliveries",
        needs=("notifications", "read"),
        summary="List the deliveries of a target",
        answer="A page of deliveries",
    )
    async def list_deliveries(
        self, notification_id: Id, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[DeliveryView]:
        """List the deliveries of a target, newest first: delivered, waiting for a retry, or failed."""
        from smartspider.services.notifications import targets

        id_ = parse_id(notification_id, "notification target")
        return await targets.list_deliveries(self.installation, id_, cursor=cursor, limit=limit)
