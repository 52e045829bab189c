"""`node list|drain|tune|scaling`."""

from __future__ import annotations

import click

from smartspider.cli.place import JSON, Place, placed

NODE = click.argument("name", metavar="NODE|WORKER")
WORKER = click.option("--worker", "worker_id", type=click.IntRange(1), default=None, help="Only this worker.")
WORTH_LAG_S = 0.1
WORTH_FAULTS = 0.05
"""How a worker does is worth a word from here on."""


@click.group()
def node() -> None:
    """See machines and their workers, and steer those."""


@node.command("list")
@placed
@JSON
def list_nodes(place: Place, *, as_json: bool) -> None:
    """Machines and their workers: what they hold, for which runs, and what they use."""
    from smartspider.cli.output import count, print_json, say, size, tell

    found = place.do(lambda office: office.list_nodes()).items
    if as_json:
        print_json(found)
        return
    if not any(one.workers for one in found):
        say("no worker is at work; `smartspider worker` starts one")
    for one in found:
        load = f", load {one.load[0]:g} on {count(one.cpus or 1, 'core')}" if one.load else ""
        workers = count(len(one.workers), "worker")
        tell(f"{one.node}: {workers}, {one.used} of {one.slots} slots in use, {one.free} free{load}")
        for worker in one.workers:
            used = f"{worker.used}/{worker.slots} in use, {size(worker.memory_bytes)}"
            used += f", {worker.cpu_s:.0f} s of CPU, version {worker.version or 'unknown'}"
            runs = f", runs {', '.join(worker.run_ids)}" if worker.run_ids else ""
            form = f", {worker.lag_s:.1f} s late" if worker.lag_s >= WORTH_LAG_S else ""
            if worker.fault_share >= WORTH_FAULTS:
                form += f", {worker.fault_share:.0%} of its requests unanswered"
            hosts = f", at {', '.join(worker.hosts)}" if worker.hosts else ""
            told = f"{used}{form}{runs}{hosts}, seen {worker.seen_at}"
            tell(f"  {worker.id:>4}  {worker.state:<8} {worker.name}: {told}")


@node.command()
@NODE
@WORKER
@placed
@JSON
def drain(name: str, worker_id: int | None, place: Place, *, as_json: bool) -> None:
    """Ask the workers of a machine to finish what they hold and leave; the others take up the rest."""
    from smartspider.cli.output import count, print_json, say

    drained = place.do(lambda office: office.drain_node(name, worker_id=worker_id))
    if as_json:
        print_json(drained)
    were = "was" if drained.asked == 1 else "were"
    say(f"{count(drained.asked, 'worker')} of {drained.node} {were} asked to leave")


@node.command()
@NODE
@click.option(
    "--slots",
    type=click.IntRange(0, 10_000),
    required=True,
    help="Requests in flight at most, of each worker.",
)
@WORKER
@placed
@JSON
def tune(name: str, slots: int, worker_id: int | None, place: Place, *, as_json: bool) -> None:
    """Give the workers of a machine, or one of them, another number of slots while they work."""
    from smartspider.cli.output import count, print_json, say

    tuned = place.do(lambda office: office.tune_node(name, slots=slots, worker_id=worker_id))
    if as_json:
        print_json(tuned)
    say(
        f"{count(tuned.workers, 'worker')} of {tuned.node} may have {count(tuned.slots, 'request')} in flight"
    )


@node.command()
@placed
@JSON
def scaling(place: Place, *, as_json: bool) -> None:
    """How many workers are wanted, and why."""
    from smartspider.cli.output import count, print_json, tell

    found = place.do(lambda office: office.get_scaling())
    if as_json:
        print_json(found)
        return
    elastic = f" ({found.elastic} of them started by need)" if found.elastic else ""
    are = "is" if found.desired == 1 else "are"
    tell(f"{count(found.desired, 'worker')} {are} wanted, {found.workers} at work{elastic}: {found.reason}")
    for run in found.runs:
        pages = "1 page" if run.open == 1 else f"{run.open:,} pages"
        tell(f"  run {run.run_id}, {pages} to fetch: {run.reason}")
