"""What the operations of an office stand on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from smartspider.core.access import Principal
from smartspider.core.errors import NotFound, TaskInvalid
from smartspider.services.access import Access, build_access
from smartspider.services.desk import Desk
from smartspider.services.keys import Keys, open_keys
from smartspider.views.listed import Listed
from smartspider.wiring.desk import desk_of
from smartspider.wiring.folder import DataFolder
from smartspider.wiring.hub import Hub
from smartspider.wiring.settings import Settings, read_settings

T = TypeVar("T")
V = TypeVar("V")


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


def number(id_: str, what: str) -> int:
    """The number behind an id; what is no number belongs to nothing."""
    if not id_.isascii() or not id_.isdecimal() or len(id_) > 18:
        raise NotFound(f"there is no {what} {id_[:40]!r}")
    return int(id_)


def place_of(cursor: str | None) -> int | None:
    """The number that a cursor is."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 18:
        raise TaskInvalid(f"{cursor[:40]!r} is not a cursor of this list")
    return int(cursor)


def page_of(
    found: Sequence[T], limit: int, cursor_of: Callable[[T], object], view: Callable[[T], V]
) -> Listed[V]:
    """A page of what was found; `found` has one more than `limit` when there is a further page."""
    shown = found[:limit]
    next_ = str(cursor_of(shown[-1])) if len(found) > limit else None
    return Listed([view(one) for one in shown], next_)
