"""`node list|clock|drain|tune|scaling`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import format_size, print_line, print_message, printed
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.views.nodes import ClockView, Drained, NodeTuned, NodeView, ScalingView, WorkerView

NODE = click.argument("name", metavar="NODE|WORKER")
WORKER = click.option("--worker", "worker_id", type=click.IntRange(1), default=None, help="Only this worker.")
SHOWN_LAG_S = 0.1
SHOWN_FAULT_SHARE = 0.05
"""Event-loop lag and the share of requests without a response are shown from these values on."""


def _print_nodes(found: list[NodeView]) -> None:
    if not any(one.workers for one in found):
        print_message("no workers are running; `smartspider worker` starts one")
    for one in found:
        load = f", load {one.load[0]:g} on {count(one.cpus or 1, 'core')}" if one.load else ""
        workers = count(len(one.workers), "worker")
        print_line(f"{one.node}: {workers}, {one.used} of {one.slots} slots in use, {one.free} free{load}")
        for worker in one.workers:
            print_line(f"  {worker.id:>4}  {worker.state:<8} {worker.name}: {_worker_text(worker)}")


def _worker_text(worker: WorkerView) -> str:
    parts = [
        f"{worker.used}/{worker.slots} in use",
        format_size(worker.memory_bytes),
        f"{worker.cpu_s:.0f} s of CPU",
        f"version {worker.version or 'unknown'}",
    ]
    if worker.lag_s >= SHOWN_LAG_S:
        parts.append(f"{worker.lag_s:.1f} s late")
    if worker.fault_share >= SHOWN_FAULT_SHARE:
        parts.append(f"{worker.fault_share:.0%} of its requests without a response")
    if worker.run_ids:
        parts.append(f"runs {', '.join(worker.run_ids)}")
    if worker.hosts:
        parts.append(f"hosts {', '.join(worker.hosts)}")
    return ", ".join([*parts, f"last seen {worker.seen_at}"])


def _print_scaling(found: ScalingView) -> None:
    elastic = f" ({found.elastic} started by autoscaling)" if found.elastic else ""
    print_line(f"{count(found.desired, 'worker')} desired, {found.workers} running{elastic}: {found.reason}")
    for run in found.runs:
        pages = "1 page" if run.open == 1 else f"{run.open:,} pages"
        print_line(f"  run {run.run_id}, {pages} to fetch: {run.reason}")


def _print_clock(found: ClockView) -> None:
    print_line(f"store time {found.store_time}, clock {found.wall_time}")
    if not found.is_confirmed:
        print_line(
            f"the clock jumped at {found.since} and is not confirmed: store time follows it at"
            f" {found.believed_at}, or with `smartspider node clock --confirm`"
        )


def _drained_message(drained: Drained) -> str:
    return f"draining {count(drained.asked, 'worker')} of {drained.node}"


def _tuned_message(tuned: NodeTuned) -> str:
    have = "has" if tuned.workers == 1 else "have"
    return f"{count(tuned.workers, 'worker')} of {tuned.node} now {have} {count(tuned.slots, 'slot')}"


@click.group(cls=CommandGroup)
def node() -> None:
    """Show, tune and drain nodes and their workers."""


@node.command("list")
@with_target
@printed(_print_nodes)
def list_nodes(target: Target) -> list[NodeView]:
    """List nodes and their workers with slots, runs, hosts, CPU and memory."""
    return target.run(lambda operations: operations.list_nodes()).items


@node.command()
@click.option("--confirm", is_flag=True, help="Let store time follow the clock now.")
@with_target
@printed(_print_clock)
def clock(target: Target, *, confirm: bool) -> ClockView:
    """Show the time of the store and the clock that it follows.

    A clock that jumps by more than a minute is not believed at once: schedules, retention and the expiry
    of tokens go on by store time, as before the jump. It is followed after ten minutes (after a day, if it
    jumped forward by more than a week), or with --confirm.
    """
    if confirm:
        return target.run(lambda operations: operations.confirm_clock())
    return target.run(lambda operations: operations.get_clock())


@node.command()
@NODE
@WORKER
@with_target
@printed(message=_drained_message)
def drain(name: str, worker_id: int | None, target: Target) -> Drained:
    """Drain a node: its workers finish their requests in flight and exit.

    Other workers take over its remaining requests.
    """
    return target.run(lambda operations: operations.drain_node(name, worker_id=worker_id))


@node.command()
@NODE
@click.option(
    "--slots", type=click.IntRange(0, 10_000), required=True, help="Maximum requests in flight per worker."
)
@WORKER
@with_target
@printed(message=_tuned_message)
def tune(name: str, slots: int, worker_id: int | None, target: Target) -> NodeTuned:
    """Change the number of slots of a node's workers, or of one worker, at run time."""
    return target.run(lambda operations: operations.tune_node(name, slots=slots, worker_id=worker_id))


@node.command()
@with_target
@printed(_print_scaling)
def scaling(target: Target) -> ScalingView:
    """Show the desired number of workers and the reason."""
    return target.run(lambda operations: operations.get_scaling())
