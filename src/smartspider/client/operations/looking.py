"""Looking at pages, at reasons, at the audit, and at the machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from smartspider.client.connection import place
from smartspider.client.operations.wired import Wired
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.explain import ExplanationView
from smartspider.views.health import HealthView, ReadyView, TargetsView
from smartspider.views.listed import Listed
from smartspider.views.nodes import Drained, NodeTuned, NodeView
from smartspider.views.preview import PreviewView
from smartspider.views.scaling import ScalingView


class ExplainOperations(Wired):
    """Why a URL was or was not fetched, and rules tried on a page."""

    async def explain_url(self, url: str, *, run_id: str | None = None) -> ExplanationView:
        """Why a URL was or was not fetched in a run; in the newest unless one is named."""
        return await self.connection.get("/api/explain", ExplanationView, {"url": url, "run_id": run_id})

    async def preview_page(
        self,
        url: str,
        *,
        rules: str | Mapping[str, Any] | Sequence[Any] | None = None,
        selectors: Mapping[str, Any] | None = None,
        task: Mapping[str, Any] | None = None,
        page: str = "default",
    ) -> PreviewView:
        """Fetch a page and try rules on it, as a crawl would; nothing is kept."""
        body = {"url": url, "rules": rules, "selectors": selectors, "task": task, "page": page}
        return await self.connection.post("/api/preview", PreviewView, body)


class AuditOperations(Wired):
    """Who did what; a chain that tells when somebody changed it."""

    async def list_audit(
        self,
        *,
        action: str | None = None,
        subject: str | None = None,
        actor: str | None = None,
        since: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[AuditView]:
        """What was done, newest first."""
        params = {"action": action, "subject": subject, "actor": actor, "since": since}
        params |= {"limit": str(limit), "cursor": cursor}
        return await self.connection.get("/api/audit", Listed[AuditView], params)

    async def verify_audit(self) -> AuditCheckView:
        """Whether the audit is what was written."""
        return await self.connection.get("/api/audit/verify", AuditCheckView)


class NodeOperations(Wired):
    """The machines and processes that work, and how the server is."""

    async def list_nodes(self) -> Listed[NodeView]:
        """Each machine with its workers."""
        return await self.connection.get("/api/nodes", Listed[NodeView])

    async def get_scaling(self) -> ScalingView:
        """How many workers are wanted, and why."""
        return await self.connection.get("/api/nodes/scaling", ScalingView)

    async def drain_node(self, node: str, *, worker_id: int | None = None) -> Drained:
        """Ask the workers of a machine, or one of them, to finish what they hold and leave."""
        path = place("/api/nodes/", node, "/drain")
        return await self.connection.post(path, Drained, params={"worker_id": worker_id})

    async def tune_node(self, node: str, *, slots: int, worker_id: int | None = None) -> NodeTuned:
        """Have the workers of a machine, or one of them, hold so many requests at most."""
        answer = await self.connection.request(
            "PATCH", place("/api/nodes/", node), params={"worker_id": worker_id}, body={"slots": slots}
        )
        return self.connection.read(answer, NodeTuned)

    async def get_health(self) -> HealthView:
        """Whether the server lives."""
        return await self.connection.get("/healthz", HealthView)

    async def get_readiness(self) -> ReadyView:
        """Whether tasks can be run, and what is missing if not."""
        answer = await self.connection.request("GET", "/readyz", also=frozenset({503}))
        return self.connection.read(answer, ReadyView)

    async def list_metric_targets(self) -> list[TargetsView]:
        """Where Prometheus finds the metrics."""
        return await self.connection.get("/api/sd/prometheus", list[TargetsView])

    async def get_metrics(self) -> str:
        """Metrics in the text format of Prometheus."""
        return (await self.connection.request("GET", "/metrics")).decode()

    async def get_task_schema(self) -> dict[str, Any]:
        """The JSON Schema of task files."""
        return await self.connection.get("/api/schema/task", dict[str, Any])
