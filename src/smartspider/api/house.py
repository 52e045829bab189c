"""The house a request is answered in."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from smartspider.wiring.house import House


def house_of(connection: HTTPConnection) -> House:
    """The house of the app that answers."""
    return cast("House", connection.app.state.house)


Housed = Annotated[House, Depends(house_of)]
