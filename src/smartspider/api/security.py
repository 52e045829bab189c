"""Who asks, and whether they may: `principal: Annotated[Principal, needs("runs", "write")]` in a route."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from smartspider.api import quiet
from smartspider.api.body_limit import BodyLimit
from smartspider.api.door import PRINCIPAL, Door
from smartspider.api.forwarded import Forwarded
from smartspider.api.headers import SecureHeaders
from smartspider.core.access import Area, Principal, Verb, require
from smartspider.services.bearers import unknown
from smartspider.wiring.house import House
from smartspider.wiring.server_settings import body_limit_of, networks_of, rate_of

bearer = HTTPBearer(auto_error=False, description="A token of a program, or an access token of a user.")


def install(app: FastAPI, house: House) -> None:
    """Put the guards around an app. The last added is the first that sees a request."""
    settings = house.settings
    quiet.install()
    app.add_middleware(Door, access=house.access, rate=rate_of(settings.rate_limit))
    app.add_middleware(BodyLimit, most=body_limit_of(settings.max_body_bytes))
    app.add_middleware(SecureHeaders)
    app.add_middleware(Forwarded, trusted=networks_of(settings.trusted_proxies))


async def signed_in(connection: HTTPConnection, _shown: Annotated[object, Depends(bearer)]) -> Principal:
    """Who sends this request, as found at the door; raises `NotSignedIn`."""
    return _came(connection)


Signed = Annotated[Principal, Depends(signed_in)]


def needs(area: Area, verb: Verb) -> Any:
    """A dependency: the principal, if they may do this at all. Owners are checked by the services."""

    async def check(principal: Signed) -> Principal:
        require(principal, area, verb)
        return principal

    check.needs = (area, verb)  # type: ignore[attr-defined]  # read by the OpenAPI document and by tests
    return Depends(check)


async def ws_principal(websocket: WebSocket, area: Area, verb: Verb = "read") -> Principal:
    """Who opens a WebSocket, if they may; call it before `accept`. What it raises becomes the answer."""
    principal = _came(websocket)
    require(principal, area, verb)
    return principal


def address_of(connection: HTTPConnection) -> str:
    """Where a request came from."""
    return connection.client.host if connection.client else ""


def _came(connection: HTTPConnection) -> Principal:
    principal = connection.scope.get("state", {}).get(PRINCIPAL)
    if not isinstance(principal, Principal):
        raise unknown()
    return principal
