"""Services with state of their own, made when they are first used and closed with their process."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from smartspider.installation.installation import Installation

if TYPE_CHECKING:
    from smartspider.services.access.access import Access
    from smartspider.services.access.secrets import Passwords
    from smartspider.services.fair_limit import FairLimit
    from smartspider.services.live.hub import LiveHub
    from smartspider.services.live.shared import SharedReaders
    from smartspider.services.readiness import Readiness
    from smartspider.services.results.exports import Exports
    from smartspider.wiring.preview.previews import Previews


class Services:
    """The stateful services of one process on an installation. `accepts_admin_token` is for servers.

    A service with other limits than the usual ones is assigned before its first use.
    """

    def __init__(
        self,
        installation: Installation,
        *,
        accepts_admin_token: bool = False,
        passwords: Passwords | None = None,
    ) -> None:
        self.installation, self._passwords = installation, passwords
        self._admin_token = installation.settings.admin_token if accepts_admin_token else ""

    @cached_property
    def access(self) -> Access:
        """Users, tokens and sessions."""
        from smartspider.services.access.access import build_access

        return build_access(self.installation, self._admin_token, self._passwords)

    @cached_property
    def hub(self) -> LiveHub:
        """Live events and log lines."""
        from smartspider.services.live.hub import LiveHub

        return LiveHub(self.installation.events, self.installation.logs)

    @cached_property
    def live_readers(self) -> SharedReaders:
        """The readers that the watches of live sockets share."""
        from smartspider.services.live.shared import SharedReaders

        return SharedReaders()

    @cached_property
    def exports(self) -> Exports:
        """File exports, a bounded number at a time."""
        from smartspider.services.results.exports import Exports
        from smartspider.wiring.scratch import Scratch

        return Exports(self.installation.store, Scratch(self.installation.path / "exports").folder)

    @cached_property
    def previews(self) -> Previews:
        """Previews, each in a process of its own."""
        from smartspider.wiring.preview.previews import Previews

        return Previews(self.installation)

    @cached_property
    def queries(self) -> FairLimit:
        """Calls that may read many rows, a bounded number at a time and for each user."""
        from smartspider.services.fair_limit import FairLimit, SlotLimits

        return FairLimit("queries", SlotLimits(total=8, waiting=256, retry_after_s=1.0))

    def slots(self) -> tuple[FairLimit, ...]:
        """Return the limits of concurrent work of this process."""
        from smartspider.wiring.offload.process_offload import ProcessOffload

        offload = self.installation.offload
        checks = (offload.slots,) if isinstance(offload, ProcessOffload) else ()
        return (self.exports.slots, self.previews.slots, self.hub.slots, self.queries, *checks)

    @cached_property
    def readiness(self) -> Readiness:
        """Readiness checks."""
        from smartspider.services.readiness import Readiness

        return Readiness(self.installation)

    async def close(self) -> None:
        """End all live streams."""
        if "hub" in self.__dict__:
            await self.hub.close()
