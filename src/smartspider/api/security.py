"""Authentication and authorization of requests."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from smartspider.api.limits import ApiLimits
from smartspider.api.middleware import authentication
from smartspider.api.middleware.authentication import PRINCIPAL, Authentication
from smartspider.api.middleware.body_limit import BodyLimit
from smartspider.api.middleware.forwarded import Forwarded
from smartspider.api.middleware.security_headers import SecureHeaders
from smartspider.core.access import Area, Principal, Verb, require
from smartspider.operations.services import Services
from smartspider.services.access.authenticator import invalid_token

bearer = HTTPBearer(auto_error=False, description="An API token, or the access token of a session.")


def install(app: FastAPI, services: Services, limits: ApiLimits) -> None:
    """Add the security middleware. The last one added sees a request first."""
    settings = services.installation.settings
    authentication.mask_tickets_in_logs()
    app.add_middleware(
        Authentication, access=services.access, rate=settings.rate_limit, recheck_s=limits.recheck_s
    )
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes)
    app.add_middleware(SecureHeaders)
    app.add_middleware(Forwarded, trusted=settings.trusted_proxies)


def current_services(connection: HTTPConnection) -> Services:
    """Return the services of the app."""
    return cast("Services", connection.app.state.services)


def current_limits(connection: HTTPConnection) -> ApiLimits:
    """Return the time limits of the app."""
    return cast("ApiLimits", connection.app.state.limits)


async def signed_in(connection: HTTPConnection, _documented: Annotated[object, Depends(bearer)]) -> Principal:
    """Return the principal of a request; raise `NotSignedIn`."""
    return _principal(connection)


CurrentServices = Annotated[Services, Depends(current_services)]
SignedIn = Annotated[Principal, Depends(signed_in)]


def needs(area: Area, verb: Verb) -> Any:
    """Return a dependency that provides the principal if it has this right. Services check ownership."""

    async def check(principal: SignedIn) -> Principal:
        require(principal, area, verb)
        return principal

    check.needs = (area, verb)  # type: ignore[attr-defined]  # read by the OpenAPI document and by tests
    return Depends(check)


async def websocket_principal(websocket: WebSocket, *areas: Area) -> Principal:
    """Return the principal of a WebSocket if it may read one of some areas; call it before `accept`."""
    principal = _principal(websocket)
    readable = [area for area in areas if principal.may(area, "read")]
    require(principal, (readable or areas)[0], "read")
    return principal


def caller_address(connection: HTTPConnection) -> str:
    """Return the network address of the client."""
    return connection.client.host if connection.client else ""


def _principal(connection: HTTPConnection) -> Principal:
    principal = connection.scope.get("state", {}).get(PRINCIPAL)
    if not isinstance(principal, Principal):
        raise invalid_token()
    return principal
