"""What programs call the operations by: these names stay."""

from __future__ import annotations

from smartspider.api.app import create_app
from smartspider.wiring.house import House

KNOWN = {
    "create_session": "POST /api/auth/token",
    "get_me": "GET /api/auth/me",
    "create_ticket": "POST /api/auth/ticket",
    "end_session": "POST /api/auth/logout",
    "change_password": "POST /api/auth/password",
    "create_task": "POST /api/tasks",
    "list_tasks": "GET /api/tasks",
    "get_task": "GET /api/tasks/{task_id}",
    "change_task": "PUT /api/tasks/{task_id}",
    "delete_task": "DELETE /api/tasks/{task_id}",
    "list_task_versions": "GET /api/tasks/{task_id}/versions",
    "get_task_version": "GET /api/tasks/{task_id}/versions/{number}",
    "list_runs": "GET /api/runs",
    "get_run": "GET /api/runs/{run_id}",
    "tune_run": "PATCH /api/runs/{run_id}",
    "delete_run": "DELETE /api/runs/{run_id}",
    "pause_run": "POST /api/runs/{run_id}/pause",
    "resume_run": "POST /api/runs/{run_id}/resume",
    "stop_run": "POST /api/runs/{run_id}/stop",
    "cancel_run": "POST /api/runs/{run_id}/cancel",
    "retry_run": "POST /api/runs/{run_id}/retry",
    "get_run_metrics": "GET /api/runs/{run_id}/metrics",
    "explain_stall": "GET /api/runs/{run_id}/explain-stall",
    "list_run_failures": "GET /api/runs/{run_id}/failures",
    "list_run_pages": "GET /api/runs/{run_id}/pages",
    "get_run_receipt": "GET /api/runs/{run_id}/receipt",
    "start_task": "POST /api/tasks/{task_id}/start",
    "pause_task": "POST /api/tasks/{task_id}/pause",
    "resume_task": "POST /api/tasks/{task_id}/resume",
    "stop_task": "POST /api/tasks/{task_id}/stop",
    "retry_task": "POST /api/tasks/{task_id}/retry",
    "get_task_status": "GET /api/tasks/{task_id}/status",
    "get_task_metrics": "GET /api/tasks/{task_id}/metrics",
    "follow_run": "GET /api/runs/{run_id}/events",
    "explain_url": "GET /api/explain",
    "list_results": "GET /api/results",
    "count_results": "GET /api/results/count",
    "get_coverage": "GET /api/results/coverage",
    "compare_results": "GET /api/results/diff",
    "list_rejects": "GET /api/results/rejects",
    "list_cleaning": "GET /api/results/cleaning",
    "export_results": "POST /api/results/export",
    "list_logs": "GET /api/logs",
    "list_run_logs": "GET /api/runs/{run_id}/logs",
    "list_task_logs": "GET /api/tasks/{task_id}/logs",
    "list_schedules": "GET /api/schedules",
    "create_schedule": "POST /api/schedules",
    "preview_schedule": "POST /api/schedules/preview",
    "get_schedule": "GET /api/schedules/{schedule_id}",
    "change_schedule": "PATCH /api/schedules/{schedule_id}",
    "delete_schedule": "DELETE /api/schedules/{schedule_id}",
    "list_firings": "GET /api/schedules/{schedule_id}/firings",
    "fire_schedule": "POST /api/schedules/{schedule_id}/fire",
    "list_notices": "GET /api/notices",
    "create_notice": "POST /api/notices",
    "get_notice": "GET /api/notices/{notice_id}",
    "delete_notice": "DELETE /api/notices/{notice_id}",
    "test_notice": "POST /api/notices/{notice_id}/test",
    "list_deliveries": "GET /api/notices/{notice_id}/deliveries",
    "preview_page": "POST /api/preview",
    "list_nodes": "GET /api/nodes",
    "drain_node": "POST /api/nodes/{node}/drain",
    "list_users": "GET /api/users",
    "create_user": "POST /api/users",
    "get_user": "GET /api/users/{user_id}",
    "change_user": "PATCH /api/users/{user_id}",
    "delete_user": "DELETE /api/users/{user_id}",
    "list_tokens": "GET /api/tokens",
    "create_token": "POST /api/tokens",
    "get_token": "GET /api/tokens/{token_id}",
    "revoke_token": "DELETE /api/tokens/{token_id}",
    "list_audit": "GET /api/audit",
    "verify_audit": "GET /api/audit/verify",
    "get_task_schema": "GET /api/schema/task",
    "get_health": "GET /healthz",
    "get_readiness": "GET /readyz",
    "list_metric_targets": "GET /api/sd/prometheus",
    "get_metrics": "GET /metrics",
}


async def test_operations_are_called_as_they_always_were(house: House) -> None:
    """A new one is added here; one that is gone or called otherwise breaks the programs of others."""
    found = {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, methods in create_app(house).openapi()["paths"].items()
        for method, operation in methods.items()
    }
    assert found == KNOWN
