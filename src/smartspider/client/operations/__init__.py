"""The operations of the API, one method each by the name of its operationId, one file per noun."""

from __future__ import annotations

from smartspider.client.operations.auth import AuthOperations
from smartspider.client.operations.hosts import HostOperations
from smartspider.client.operations.live import LiveOperations
from smartspider.client.operations.logs import LogOperations
from smartspider.client.operations.looking import AuditOperations, ExplainOperations, NodeOperations
from smartspider.client.operations.notices import NoticeOperations
from smartspider.client.operations.people import TokenOperations, UserOperations
from smartspider.client.operations.results import ResultOperations
from smartspider.client.operations.runs import RunOperations
from smartspider.client.operations.schedules import ScheduleOperations
from smartspider.client.operations.task_runs import TaskRunOperations
from smartspider.client.operations.tasks import TaskOperations


class Operations(
    AuthOperations,
    TaskOperations,
    TaskRunOperations,
    RunOperations,
    LiveOperations,
    ResultOperations,
    LogOperations,
    ScheduleOperations,
    NoticeOperations,
    ExplainOperations,
    HostOperations,
    NodeOperations,
    UserOperations,
    TokenOperations,
    AuditOperations,
):
    """Every operation of the API, one method each by the name of its operationId."""
