"""Contract suites: a backend is correct if one subclass of each suite, with one fixture `backend`, passes."""

import pytest

# pytest rewrites assertions only in modules registered before their import; a name covers its submodules.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in (
            "access",
            "frontier",
            "ledger",
            "logs",
            "metrics",
            "nodes",
            "notifications",
            "results",
            "runs",
            "sink",
            "tasks",
            "url_filter",
        )
    )
)

from smartspider_testing.contracts.access.audit import AuditLogContract
from smartspider_testing.contracts.access.cookies import CookieSetStoreContract
from smartspider_testing.contracts.access.idempotency import IdempotencyStoreContract
from smartspider_testing.contracts.access.proxies import ProxyStoreContract
from smartspider_testing.contracts.access.users import UserStoreContract
from smartspider_testing.contracts.access.vault import VaultStoreContract
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.frontier.frontier import FrontierContract
from smartspider_testing.contracts.ledger.ledger import LedgerContract
from smartspider_testing.contracts.logs import LogStoreContract
from smartspider_testing.contracts.metrics import MetricStoreContract
from smartspider_testing.contracts.nodes.leadership import LeadershipContract
from smartspider_testing.contracts.nodes.scaling import ScalingContract
from smartspider_testing.contracts.nodes.workers import WorkerRegistryContract
from smartspider_testing.contracts.notifications import NotificationOutboxContract, NotificationStoreContract
from smartspider_testing.contracts.results import ResultStoreContract
from smartspider_testing.contracts.runs.diagnostics import DiagnosticsContract
from smartspider_testing.contracts.runs.events import EventFeedContract
from smartspider_testing.contracts.runs.store import StoreContract
from smartspider_testing.contracts.sink import ChangingSinkContract, PositionContract, SinkContract
from smartspider_testing.contracts.tasks.schedules import ScheduleStoreContract
from smartspider_testing.contracts.tasks.tasks import TaskStoreContract
from smartspider_testing.contracts.url_filter import ExactUrlFilterContract, UrlFilterContract

__all__ = [
    "AuditLogContract",
    "Backend",
    "ChangingSinkContract",
    "CookieSetStoreContract",
    "DiagnosticsContract",
    "EventFeedContract",
    "ExactUrlFilterContract",
    "FrontierContract",
    "IdempotencyStoreContract",
    "LeadershipContract",
    "LedgerContract",
    "LogStoreContract",
    "MetricStoreContract",
    "NotificationOutboxContract",
    "NotificationStoreContract",
    "PositionContract",
    "ProxyStoreContract",
    "ResultStoreContract",
    "ScalingContract",
    "ScheduleStoreContract",
    "SinkContract",
    "StoreContract",
    "TaskStoreContract",
    "UrlFilterContract",
    "UserStoreContract",
    "VaultStoreContract",
    "WorkerRegistryContract",
]
