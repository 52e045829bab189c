"""The audit log."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Operations, operation
from smartspider.views.audit import AuditCheckView, AuditView
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, query


class AuditOperations(Operations):
    """The audit log, a hash chain that shows tampering."""

    @operation(
        "GET", "/api/audit", needs=("audit", "read"), summary="List audit entries", answer="A page of entries"
    )
    async def list_audit(
        self,
        *,
        action: Annotated[
            str | None,
            query("Only this action: `task.changed`, `run.state`, ...", min_length=1, max_length=200),
        ] = None,
        subject: Annotated[
            str | None,
            query("Only entries about this subject: `task:3`, `run:7`, ...", min_length=1, max_length=200),
        ] = None,
        actor: Annotated[
            str | None, query("Only entries by this actor.", min_length=1, max_length=200)
        ] = None,
        since: Annotated[
            str | None,
            Param(
                about="Only entries since this time.",
                rules={"max_length": 60},
                examples=("2026-07-01T12:00:00Z",),
            ),
        ] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[AuditView]:
        """List every change with its actor, and every disabled politeness rule; newest first."""
        from smartspider.services import audit

        wanted = audit.AuditQuery(action, subject, actor, since)
        return await audit.list_entries(self.installation, wanted, cursor=cursor, limit=limit)

    @operation(
        "GET",
        "/api/audit/verify",
        needs=("audit", "read"),
        summary="Verify the audit log",
        answer="The result of checking the whole chain",
        is_heavy=True,
    )
    async def verify_audit(self) -> AuditCheckView:
        """Read the whole chain and return the first entry that was changed, removed or inserted."""
        from smartspider.services import audit

        return await audit.verify_audit(self.installation)
