"""Who asks, and whether they may: `principal: Signed = needs("runs", "write")` in a route."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from smartspider.api.house import house_of
from smartspider.core.access import Area, Principal, Verb, require
from smartspider.core.errors import NotSignedIn

bearer = HTTPBearer(auto_error=False, description="A token of a program, or an access token of a user.")


async def signed_in(request: Request, _shown: Annotated[object, Depends(bearer)]) -> Principal:
    """Who sends this request; raises `NotSignedIn`."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    admin = house_of(request).settings.admin_token
    if scheme.lower() == "bearer" and admin and hmac.compare_digest(token.strip().encode(), admin.encode()):
        return Principal("admin", "admin")
    raise NotSignedIn("no valid token came with the request", hint="send `Authorization: Bearer TOKEN`")


Signed = Annotated[Principal, Depends(signed_in)]


def needs(area: Area, verb: Verb) -> Any:
    """A dependency: the principal, if they may do this at all. Owners are checked by the services."""

    async def check(principal: Signed) -> Principal:
        require(principal, area, verb)
        return principal

    check.needs = (area, verb)  # type: ignore[attr-defined]  # read by the OpenAPI document and by tests
    return Depends(check)


Check = Callable[[Principal], Awaitable[Principal]]
