"""`notification add|list|change|pause|resume|test|delete|history`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.exit_codes import code_of_findings
from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.views.notifications import (
        DeliveryView,
        NotificationTargetMade,
        NotificationTargetView,
        TriedView,
    )

EVENTS = (
    *("run.finished", "run.failed", "run.paused", "run.few_rows", "cookies.invalid"),
    *("store.full", "store.returned"),
)
ID = click.argument("notification_id", metavar="ID")


def _print_secret(made: NotificationTargetMade) -> None:
    if made.secret is not None:
        print_line(made.secret)


def _created_message(made: NotificationTargetMade) -> str:
    signed = "" if made.secret is None else "; the signing secret is not shown again"
    return f"notification target {made.id} {made.address}: {', '.join(made.events)}{signed}"


def _target_message(target: NotificationTargetView) -> str:
    state = "" if target.enabled else " (paused)"
    return f"notification target {target.id} {target.address}: {', '.join(target.events)}{state}"


def _print_targets(found: list[NotificationTargetView]) -> None:
    for one in found:
        task = "" if one.task is None else f"  task {one.task}"
        state = "" if one.enabled else "  paused"
        print_line(f"{one.id:>4}  {one.kind:<7}  {one.address}  {','.join(one.events)}{task}{state}")


def _print_deliveries(found: list[DeliveryView]) -> None:
    from smartspider.cli.times import format_time

    for one in found:
        at = format_time(one.created_at)
        print_line(f"{at}  {one.state:<9} {one.event}  run {one.run_id}  {one.error}".rstrip())


def _test_message(tried: TriedView) -> str:
    return "delivered" if tried.delivered else f"not delivered: {tried.error}"


def _complete_channel(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    from smartspider.plugins.kinds import CHANNEL
    from smartspider.plugins.registry import known

    return [name for name in known(CHANNEL) if name.startswith(typed)]


@click.group(cls=CommandGroup)
def notification() -> None:
    """Manage notifications about runs: webhooks, email and Slack."""


@notification.command()
@click.argument("kind", shell_complete=_complete_channel)
@click.argument("address")
@click.option(
    "--on", "events", multiple=True, type=click.Choice(EVENTS), help="Events to send.  [default: all]"
)
@click.option("--task", default=None, metavar="NAME", help="Only events of this task.")
@with_target
@printed(_print_secret, message=_created_message)
def add(
    kind: str, address: str, events: tuple[Any, ...], task: str | None, target: Target
) -> NotificationTargetMade:
    """Add a notification target.

    KIND is webhook (a signed POST to a URL), slack (a Slack webhook URL), email, or a channel of a plug-in.
    """
    return target.run(
        lambda operations: operations.create_notification(
            kind=kind, address=address, events=events or EVENTS, task_id=task
        ),
        task=task,
    )


@notification.command("list")
@with_target
@printed(_print_targets)
def list_targets(target: Target) -> list[NotificationTargetView]:
    """List notification targets."""
    return target.run(lambda operations: collect(operations.list_notifications))


@notification.command()
@ID
@click.option("--address", default=None, metavar="ADDRESS", help="New URL or email address.")
@click.option("--on", "events", multiple=True, type=click.Choice(EVENTS), help="Events to send from now on.")
@click.option("--task", default=None, metavar="NAME", help="Only events of this task; '' for all tasks.")
@with_target
@printed(message=_target_message)
def change(
    notification_id: str, address: str | None, events: tuple[Any, ...], task: str | None, target: Target
) -> NotificationTargetView:
    """Change a notification target. What is not given stays, the signing secret too."""
    return target.run(
        lambda operations: operations.change_notification(
            notification_id, address=address, events=events or None, task_id=task
        )
    )


@notification.command()
@ID
@with_target
@printed(message=_target_message)
def pause(notification_id: str, target: Target) -> NotificationTargetView:
    """Pause a notification target: it receives nothing until it is resumed."""
    return target.run(lambda operations: operations.change_notification(notification_id, enabled=False))


@notification.command()
@ID
@with_target
@printed(message=_target_message)
def resume(notification_id: str, target: Target) -> NotificationTargetView:
    """Resume a notification target. What was waiting is sent; what happened meanwhile is not."""
    return target.run(lambda operations: operations.change_notification(notification_id, enabled=True))


@notification.command()
@ID
@with_target
@printed(
    message=_test_message,
    exit_code=lambda tried: code_of_findings(is_ok=tried.delivered),
)
def test(notification_id: str, target: Target) -> TriedView:
    """Send a test notification; exit code 6 if delivery fails."""
    return target.run(lambda operations: operations.test_notification(notification_id))


@notification.command()
@ID
@with_target
@printed(message="notification target {0[notification_id]} is deleted")
def delete(notification_id: str, target: Target) -> dict[str, Any]:
    """Delete a notification target."""
    target.run(lambda operations: operations.delete_notification(notification_id))
    return {"notification_id": notification_id, "deleted": True}


@notification.command()
@ID
@limit_option(20, "deliveries")
@with_target
@printed(_print_deliveries)
def history(notification_id: str, limit: int, target: Target) -> list[DeliveryView]:
    """List deliveries, newest first: delivered, waiting for a retry, or failed."""
    return target.run(lambda operations: collect(partial(operations.list_deliveries, notification_id), limit))
