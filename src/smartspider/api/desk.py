"""The desk of the services about runs, in a route: `desk: Desked`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from smartspider.api.house import house_of
from smartspider.services.desk import Desk
from smartspider.wiring.desk import desk_of


async def _desk(connection: HTTPConnection) -> Desk:
    house = house_of(connection)
    return desk_of(house.premises, house.settings)


Desked = Annotated[Desk, Depends(_desk)]
