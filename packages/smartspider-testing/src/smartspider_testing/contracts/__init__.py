"""Contract suites: a backend is right when one subclass of each, with one fixture `ground`, is green."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.store", f"{__name__}.frontier", f"{__name__}.ledger")
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{name}"
        for name in (
            "telling",
            "gates",
            "sharing",
            "shares",
            "workers",
            "suspects",
            "late",
            "landing",
            "limits",
            "trouble",
            "dedup",
            "notes",
            "revisits",
            "unchanged",
            "tasks",
            "audit",
            "pinning",
            "turning",
            "retries",
            "listing",
            "feed",
            "insight",
            "results",
            "logs",
            "metrics",
            "users",
            "sessions",
            "answers",
            "leadership",
            "notices",
            "schedules",
            "seen",
            "scaling",
        )
    )
)

from smartspider_testing.contracts.answers import AnswerStoreContract  # noqa: E402 - as below
from smartspider_testing.contracts.audit import AuditLogContract  # noqa: E402 - rewritten only when registered first
from smartspider_testing.contracts.feed import EventFeedContract  # noqa: E402 - as above
from smartspider_testing.contracts.frontier import FrontierContract  # noqa: E402 - as above
from smartspider_testing.contracts.ground import Ground  # noqa: E402 - as above
from smartspider_testing.contracts.insight import InsightContract  # noqa: E402 - as above
from smartspider_testing.contracts.leadership import LeadershipContract  # noqa: E402 - as above
from smartspider_testing.contracts.ledger import LedgerContract  # noqa: E402 - as above
from smartspider_testing.contracts.logs import LogStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.metrics import MetricStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.notices import NoticeStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.results import ResultStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.scaling import ScalingContract  # noqa: E402 - as above
from smartspider_testing.contracts.schedules import ScheduleStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.seen import ExactSeenContract, SeenContract  # noqa: E402 - as above
from smartspider_testing.contracts.store import StoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.tasks import TaskStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.users import UserStoreContract  # noqa: E402 - as above
from smartspider_testing.contracts.workers import WorkerRegistryContract  # noqa: E402 - as above

__all__ = [
    "AnswerStoreContract",
    "AuditLogContract",
    "EventFeedContract",
    "ExactSeenContract",
    "FrontierContract",
    "Ground",
    "InsightContract",
    "LeadershipContract",
    "LedgerContract",
    "LogStoreContract",
    "MetricStoreContract",
    "NoticeStoreContract",
    "ResultStoreContract",
    "ScalingContract",
    "ScheduleStoreContract",
    "SeenContract",
    "StoreContract",
    "TaskStoreContract",
    "UserStoreContract",
    "WorkerRegistryContract",
]
