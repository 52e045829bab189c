"""What the operations of an office stand on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from smartspider.core.access import Principal
from smartspider.services.access import Access, build_access
from smartspider.services.desk import Desk
from smartspider.services.hosts import Gates
from smartspider.services.keys import Keys
from smartspider.services.newest import CRAWL, START
from smartspider.wiring.desk import desk_of, gates_of
from smartspider.wiring.hub import Hub
from smartspider.wiring.opening import keys_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.settings import Settings, read_settings

if TYPE_CHECKING:
    from smartspider.services.timetable import Timetable


class Seat:
    """An installation, and who sits at it."""

    def __init__(self, premises: Premises, principal: Principal) -> None:
        self.premises = premises
        self.principal = principal

    @cached_property
    def settings(self) -> Settings:
        """The settings of the installation."""
        return read_settings()

    @cached_property
    def desk(self) -> Desk:
        """The desk of the services about runs."""
        return desk_of(self.premises, self.settings)

    @property
    def how_to_start(self) -> str:
        """What helps who has no run here yet."""
        return START if self.premises.is_cluster else CRAWL

    @property
    def gates(self) -> Gates:
        """The gates of all hosts."""
        return gates_of(self.premises)

    @cached_property
    def table(self) -> Timetable:
        """The timetable of the services about schedules."""
        from smartspider.wiring.timetable import timetable_of

        return timetable_of(self.premises, self.settings)

    @cached_property
    def keys(self) -> Keys:
        """The keys of the installation."""
        return keys_of(self.premises, self.settings)

    @cached_property
    def access(self) -> Access:
        """Users and tokens."""
        return build_access(self.premises.users, self.keys, self.premises.clock)

    @cached_property
    def hub(self) -> Hub:
        """Tells what is new."""
        return Hub(self.premises.events, self.premises.logs)

    async def close(self) -> None:
        """End all streams."""
        if "hub" in self.__dict__:
            await self.hub.close()
