"""`node list|drain`."""

from __future__ import annotations

import click

from smartspider.cli.place import JSON, Place, placed


@click.group()
def node() -> None:
    """See machines and their workers, and ask workers to leave."""


@node.command("list")
@placed
@JSON
def list_nodes(place: Place, *, as_json: bool) -> None:
    """Machines and their workers: what they hold, for which runs, and what they use."""
    from smartspider.cli.output import count, print_json, size, tell

    found = place.do(lambda office: office.list_nodes()).items
    if as_json:
        print_json(found)
        return
    for one in found:
        tell(f"{one.node}: {count(len(one.workers), 'worker')}, {one.used} of {one.slots} slots in use")
        for worker in one.workers:
            runs = f", runs {', '.join(worker.run_ids)}" if worker.run_ids else ""
            used = f"{worker.used}/{worker.slots} in use, {size(worker.memory_bytes)}"
            tell(f"  {worker.id:>4}  {worker.state:<8} {worker.name}: {used}{runs}")


@node.command()
@click.argument("name", metavar="NODE")
@click.option("--worker", "worker_id", type=click.IntRange(1), default=None, help="Only this worker.")
@placed
@JSON
def drain(name: str, worker_id: int | None, place: Place, *, as_json: bool) -> None:
    """Ask the workers of a machine to finish what they hold and leave; the others take up the rest."""
    from smartspider.cli.output import count, print_json, say

    drained = place.do(lambda office: office.drain_node(name, worker_id=worker_id))
    if as_json:
        print_json(drained)
    say(f"{count(drained.asked, 'worker')} of {drained.node} were asked to leave")
