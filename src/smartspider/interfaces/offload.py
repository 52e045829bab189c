"""Work on input of unknown cost, outside the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs functions that compute with what a user sent.

    1. The event loop goes on meanwhile.
    2. The result or the `SmartSpiderError` of the function is that of the call.
    3. A server ends work at a time limit with `RequestInvalid`, also inside code that cannot be interrupted.
    4. `holder` is the user for whom the work is done: one user never takes all places.
    """

    async def run(self, work: Callable[..., T], *values: Any, holder: str = "") -> T:
        """Return `work(*values)`. It is a function of a module, and its values and result can be pickled."""
