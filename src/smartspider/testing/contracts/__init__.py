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
        )
    )
)

from smartspider.testing.contracts.audit import AuditLogContract  # noqa: E402 - rewritten only when registered first
from smartspider.testing.contracts.frontier import FrontierContract  # noqa: E402 - as above
from smartspider.testing.contracts.ground import Ground  # noqa: E402 - as above
from smartspider.testing.contracts.ledger import LedgerContract  # noqa: E402 - as above
from smartspider.testing.contracts.store import StoreContract  # noqa: E402 - as above
from smartspider.testing.contracts.tasks import TaskStoreContract  # noqa: E402 - as above

__all__ = [
    "AuditLogContract",
    "FrontierContract",
    "Ground",
    "LedgerContract",
    "StoreContract",
    "TaskStoreContract",
]
