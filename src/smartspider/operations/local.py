"""Operations performed here, on an installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smartspider.core.access import Principal
from smartspider.operations.operation import Operation
from smartspider.operations.services import Services
from smartspider.operations.table import AllOperations
from smartspider.services.tasks.confidentiality import MASKED_AREAS, shown_to


class LocalOperations(AllOperations):
    """Operations performed here, on an installation, as a principal."""

    def __init__(self, services: Services, principal: Principal, *, caller_address: str = "") -> None:
        self.services = services
        self.principal = principal
        self.caller_address = caller_address

    async def perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Call the function of an operation. In what it reads, secrets of other people's tasks are masked."""
        if operation.is_heavy:
            async with self.services.queries.turn(self.principal.name):
                answer = await operation.function(self, **arguments)
        else:
            answer = await operation.function(self, **arguments)
        if operation.method != "GET" or operation.needs[0] not in MASKED_AREAS:
            return answer
        return await shown_to(self.principal, self.installation, arguments, answer)
