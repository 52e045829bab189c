"""What the operations of an office stand on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from smartspider.core.access import Principal
from smartspider.services.access import Access, build_access
from smartspider.services.desk import Desk
from smartspider.services.keys import Keys, open_keys
from smartspider.wiring.desk import desk_of
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.hub import Hub
from smartspider.wiring.settings import Settings, read_settings

if TYPE_CHECKING:
    from smartspider.services.timetable import Timetable


class Seat:
    """A data folder, and who sits at it."""

    def __init__(self, folder: DataFolder, principal: Principal) -> None:
        self.folder = folder
        self.principal = principal

    @cached_property
    def settings(self) -> Settings:
        """The settings of the installation."""
        return read_settings()

    @cached_property
    def desk(self) -> Desk:
        """The desk of the services about runs."""
        return desk_of(self.folder, self.settings)

    @cached_property
    def table(self) -> Timetable:
        """The timetable of the services about schedules."""
        from smartspider.wiring.timetable import timetable_of

        return timetable_of(self.folder, self.settings)

    @cached_property
    def keys(self) -> Keys:
        """The keys of the installation."""
        return open_keys(self.folder.path, self.settings.master_key)

    @cached_property
    def access(self) -> Access:
        """Users and tokens."""
        return build_access(self.folder.users, self.keys, self.folder.clock)

    @cached_property
    def hub(self) -> Hub:
        """Tells what is new in the folder."""
        return Hub(self.folder.events, self.folder.logs)

    async def close(self) -> None:
        """End all streams."""
        if "hub" in self.__dict__:
            await self.hub.close()
