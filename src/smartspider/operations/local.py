"""Operations performed here, on an installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smartspider.core.access import Principal
from smartspider.operations.operation import Operation
from smartspider.operations.services import Services
from smartspider.operations.table import AllOperations


class LocalOperations(AllOperations):
    """Operations performed here, on an installation, as a principal."""

    def __init__(self, services: Services, principal: Principal, *, caller_address: str = "") -> None:
        self.services = services
        self.principal = principal
        self.caller_address = caller_address

    async def perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Call the function of an operation."""
        return await operation.function(self, **arguments)
