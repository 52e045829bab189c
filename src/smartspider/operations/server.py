"""Health, the capabilities, the overview, and the schema of task files."""

from __future__ import annotations

from typing import Any

from smartspider import __version__
from smartspider.operations.operation import Operations, operation, operations_of
from smartspider.views.server import AboutView, CheckView, DoctorView, HealthView, OverviewView, ReadyView

TAGS = ("operations",)


class ServerOperations(Operations):
    """The state of the server."""

    @operation(
        "GET",
        "/healthz",
        needs="open",
        summary="Check that the process is alive",
        answer="The process is alive",
        example={"status": "ok", "version": __version__},
        tags=TAGS,
    )
    async def get_health(self) -> HealthView:
        """Return the version. Requires no token and does not access the store."""
        return HealthView("ok", __version__)

    @operation(
        "GET",
        "/readyz",
        needs="open",
        summary="Check that runs can make progress",
        answer="Ready",
        also={503: (ReadyView, "Not ready; `missing` lists the failed checks", None)},
        status_of=lambda view: 200 if view.ready else 503,
        tags=TAGS,
    )
    async def get_readiness(self) -> ReadyView:
        """Check that the store accepts writes, workers are alive and a keeper is the leader. Requires no
        token.
        """
        return await self.services.readiness.check()

    @operation(
        "GET",
        "/api/overview",
        needs=("runs", "read"),
        summary="Get the state of the installation at a glance",
        answer="The overview",
        tags=TAGS,
    )
    async def get_overview(self) -> OverviewView:
        """Return active runs with their speed, what needs attention with the actions that usually come next,
        the newest tasks with their last runs, the load of nodes, and what is due next.
        """
        from smartspider.services.overview import get_overview

        return await get_overview(self.installation)

    @operation(
        "GET",
        "/api/about",
        needs="signed_in",
        summary="Get the version and the capabilities",
        answer="The version, and the nouns that there are operations for",
        example={"version": __version__, "capabilities": ["logs", "results", "runs", "tasks"]},
        tags=TAGS,
    )
    async def get_about(self) -> AboutView:
        """Return the version of the server and its capabilities. Clients offer only what is listed."""
        tags = {tag for one in operations_of(type(self)) for tag in one.tags}
        if not self.installation.settings.demo_shop:
            tags.discard("demo")
        return AboutView(__version__, sorted(tags))

    @operation(
        "GET",
        "/api/doctor",
        needs=("audit", "read"),
        summary="Check the installation",
        answer="The checks, also those that fail",
        tags=TAGS,
        is_heavy=True,
    )
    async def get_doctor(self) -> DoctorView:
        """Check Python, the packages, free disk space, limits, the store, its clock, workers and the keeper.

        On a cluster, also check the master key, the frontier and the URL filters. No secrets are shown.
        """
        from smartspider.wiring.checks import check_server

        found = await check_server(self.installation, self.services.readiness)
        checks = [CheckView(one.what, one.is_ok, one.detail) for one in found]
        return DoctorView(all(one.ok for one in checks), checks)

    @operation(
        "GET",
        "/api/schema/task",
        needs="open",
        summary="Get the JSON Schema of task files",
        answer="JSON Schema, draft 2020-12",
        tags=TAGS,
        is_routed=False,
    )
    async def get_task_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of task files. Requires no token."""
        from smartspider.taskfile.schema import task_schema

        return task_schema()
