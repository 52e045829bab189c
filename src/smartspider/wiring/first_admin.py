"""The first admin of an installation."""

from __future__ import annotations

from smartspider.services import access
from smartspider.wiring.house import House


async def first_admin(house: House) -> str | None:
    """The token of the first admin, told this once: when nobody could come in otherwise."""
    if house.settings.admin_token.strip():
        return None
    return await access.first_admin(house.premises.users)
