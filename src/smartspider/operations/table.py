"""All operations, in the order of the OpenAPI document."""

from __future__ import annotations

from smartspider.operations.access import SessionOperations, TokenOperations, UserOperations
from smartspider.operations.audit import AuditOperations
from smartspider.operations.explain import ExplainOperations
from smartspider.operations.files import FileOperations
from smartspider.operations.hosts import HostOperations
from smartspider.operations.identities.cookies import CookieOperations
from smartspider.operations.identities.proxies import ProxyOperations
from smartspider.operations.identities.vault import VaultOperations
from smartspider.operations.live import LiveOperations
from smartspider.operations.logs import LogOperations
from smartspider.operations.nodes import NodeOperations
from smartspider.operations.notifications import NotificationOperations
from smartspider.operations.operation import Operation, operations_of
from smartspider.operations.results import ResultOperations
from smartspider.operations.runs import RunOperations, TaskRunOperations
from smartspider.operations.schedules import ScheduleOperations
from smartspider.operations.search import SearchOperations
from smartspider.operations.server import ServerOperations
from smartspider.operations.tasks import TaskOperations


class AllOperations(
    ServerOperations,
    SearchOperations,
    AuditOperations,
    TokenOperations,
    UserOperations,
    NodeOperations,
    HostOperations,
    VaultOperations,
    CookieOperations,
    ProxyOperations,
    NotificationOperations,
    ScheduleOperations,
    LogOperations,
    FileOperations,
    ResultOperations,
    ExplainOperations,
    LiveOperations,
    TaskRunOperations,
    RunOperations,
    TaskOperations,
    SessionOperations,
):
    """Every operation, a method each by its operationId. The bases are listed last first."""


OPERATIONS: tuple[Operation, ...] = tuple(operations_of(AllOperations))
