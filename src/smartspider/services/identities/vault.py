"""Named secrets, and the care of the vault that holds their values."""

from __future__ import annotations

import re

from smartspider.core.access import Principal, require
from smartspider.core.errors import Problem, RequestInvalid
from smartspider.core.requests.secrets import SECRET_NAME
from smartspider.installation.installation import Installation
from smartspider.services.inputs import to_page
from smartspider.views.identities.vault import (
    DamagedView,
    RotatedView,
    SecretView,
    VaultView,
    VerifiedView,
    secret_view,
)
from smartspider.views.listed import Listed

MAX_NAME = 100
MAX_VALUE = 64_000
_NAME = re.compile(SECRET_NAME)


async def list_secrets(installation: Installation, *, cursor: str | None, limit: int) -> Listed[SecretView]:
    """Return named secrets in the order of their names."""
    found = await installation.vault.store.find_secrets(after=cursor or "", limit=limit + 1)
    return to_page(found, limit, lambda one: one.name, secret_view)


async def get_secret(installation: Installation, name: str) -> SecretView:
    """Return a named secret, without its value."""
    return secret_view(await installation.vault.store.get_secret(name))


async def set_secret(
    installation: Installation, principal: Principal, name: str, value: str, *, is_shared: bool | None
) -> SecretView:
    """Add a named secret of the principal, or replace the value of one that they may change."""
    _check(name, value)
    record = await installation.vault.set_secret(
        name,
        value,
        actor=principal.name,
        is_shared=is_shared,
        check_owner=lambda owner: require(principal, "secrets", "write", owner=owner),
    )
    return secret_view(record)


async def delete_secret(installation: Installation, principal: Principal, name: str) -> None:
    """Delete a named secret. Runs that opened it keep its value until they end."""
    record = await installation.vault.store.get_secret(name)
    require(principal, "secrets", "write", owner=record.owner)
    await installation.vault.store.delete_secret(name, actor=principal.name)


async def get_vault(installation: Installation) -> VaultView:
    """Return the number of encrypted values by master key."""
    found = await installation.vault.status()
    values = found.current + found.old + found.lost
    return VaultView(found.key_id, values, found.current, found.old, found.lost)


async def verify_vault(installation: Installation) -> VerifiedView:
    """Open every value."""
    checked, damaged = await installation.vault.verify()
    return VerifiedView(not damaged, checked, [DamagedView(one.kind, str(one.id)) for one in damaged])


async def rotate_vault(installation: Installation, principal: Principal) -> RotatedView:
    """Encrypt the data key of every value with the current master key."""
    rewrapped = await installation.vault.rotate(actor=principal.name)
    return RotatedView((await installation.vault.status()).key_id, rewrapped)


def _check(name: str, value: str) -> None:
    problems = []
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        hint = f"letters, digits and _, not beginning with a digit, at most {MAX_NAME} characters"
        problems.append(Problem("name", "no task can refer to this name", hint))
    if not value or len(value) > MAX_VALUE:
        problems.append(
            Problem("value", "is empty" if not value else f"is longer than {MAX_VALUE} characters")
        )
    if problems:
        raise RequestInvalid(f"the secret's {problems[0].path}: {problems[0].line}", tuple(problems))
