"""Machines and their workers."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Body, Operations, operation
from smartspider.views.listed import Listed
from smartspider.views.nodes import ClockView, Drained, NodeTuned, NodeView, ScalingView
from smartspider.views.params import Param, body, query

MAX_SLOTS = 10_000
Node = Annotated[str, Param(about="The name of a machine, or the id of a worker.", rules={"max_length": 200})]
WorkerId = Annotated[int | None, query("Only this worker.", ge=1, le=10**15)]
SCALING = {
    "desired": 3,
    "workers": 2,
    "elastic": 2,
    "reason": "politeness allows 96 requests at a time at 24 hosts; one worker sends up to 32",
    "at": "2026-11-15T13:49:19.073Z",
    "slots": 32,
    "request_s": 0.31,
    "pages_per_s": 80.0,
    "runs": [
        {
            "run_id": "7",
            "open": 51200,
            "hosts": 24,
            "in_flight": 96.0,
            "wanted": 96.0,
            "reason": "politeness allows 96 requests at a time at 24 hosts",
        }
    ],
}

CLOCK = {
    "store_time": "2026-11-15T13:49:19.073Z",
    "wall_time": "2027-09-11T13:49:19.073Z",
    "is_confirmed": False,
    "ahead_s": 25920000.0,
    "since": "2026-11-15T13:48:51.320Z",
    "believed_at": "2026-11-16T13:48:51.320Z",
}
CONFIRMED = {
    "store_time": "2026-11-15T13:49:19.073Z",
    "wall_time": "2026-11-15T13:49:19.073Z",
    "is_confirmed": True,
}


class NodeOperations(Operations):
    """The machines that work, and the desired number of workers."""

    @operation(
        "GET",
        "/api/nodes",
        needs=("nodes", "read"),
        summary="List machines and workers",
        answer="All machines",
    )
    async def list_nodes(self) -> Listed[NodeView]:
        """List machines and their workers, with requests in flight, hosts, runs and load."""
        from smartspider.services.nodes import list_nodes

        return Listed(await list_nodes(self.installation), None)

    @operation(
        "GET",
        "/api/nodes/scaling",
        needs=("nodes", "read"),
        summary="Get the desired number of workers",
        answer="The desired number and the reason",
        example=SCALING,
    )
    async def get_scaling(self) -> ScalingView:
        """Return the number of workers needed to fetch the backlog in time, capped by what host rate limits
        allow.
        """
        from smartspider.services.nodes import get_scaling

        return await get_scaling(self.installation)

    @operation(
        "GET",
        "/api/nodes/clock",
        needs=("nodes", "read"),
        summary="Get the time of the store",
        answer="Store time and the clock that it follows",
        example=CLOCK,
    )
    async def get_clock(self) -> ClockView:
        """Return store time, by which everything is dated, due and expired, and the clock that it follows.

        A clock that jumps is not believed at once.
        """
        from smartspider.services import nodes

        return await nodes.get_clock(self.installation)

    @operation(
        "POST",
        "/api/nodes/clock/confirm",
        needs=("nodes", "write"),
        summary="Confirm the clock",
        answer="Store time follows the clock",
        example=CONFIRMED,
    )
    async def confirm_clock(self) -> ClockView:
        """Let store time follow a clock that jumped, instead of waiting until it is believed.

        Schedules, retention and the expiry of tokens go by it from now on.
        """
        from smartspider.services import nodes

        return await nodes.confirm_clock(self.installation, self.principal)

    @operation(
        "PATCH",
        "/api/nodes/{node}",
        needs=("nodes", "write"),
        summary="Set the slots of workers",
        answer="The new number of slots",
        example={"node": "crawler-1", "slots": 16, "workers": 4},
        body=Body(
            "NodeChange",
            "The settings to change.",
            examples=({"slots": 16},),
            is_strict=True,
            is_secret=True,
        ),
    )
    async def tune_node(
        self, node: Node, *, slots: Annotated[int, body(ge=0, le=MAX_SLOTS)], worker_id: WorkerId = None
    ) -> NodeTuned:
        """Set the maximum number of requests in flight for each worker of a machine, or for one worker.

        0 stops a worker from taking requests.
        """
        from smartspider.services import nodes

        return await nodes.tune(self.installation, self.principal, node, slots, worker_id=worker_id)

    @operation(
        "POST",
        "/api/nodes/{node}/drain",
        needs=("nodes", "write"),
        summary="Drain a machine",
        answer="The workers are draining",
        status=202,
        example={"node": "crawler-1", "asked": 4},
    )
    async def drain_node(self, node: Node, *, worker_id: WorkerId = None) -> Drained:
        """Drain a machine: its workers finish their requests in flight and exit. Other workers take over the
        remaining requests.
        """
        from smartspider.services import nodes

        return await nodes.drain(self.installation, self.principal, node, worker_id)
