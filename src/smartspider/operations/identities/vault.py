"""Named secrets, and the vault that holds their values."""

from __future__ import annotations

from typing import Annotated

from smartspider.operations.operation import Body, Operations, operation
from smartspider.views.identities.vault import RotatedView, SecretView, VaultView, VerifiedView
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Limit, Param, body

SECRET = "/api/secrets/{name}"  # noqa: S105 - a path
Name = Annotated[str, Param(about="The name of a secret.", rules={"max_length": 200})]
TAGS = ("secrets",)


class VaultOperations(Operations):
    """Named secrets and the vault. Nothing returns a value."""

    @operation(
        "GET",
        "/api/secrets",
        needs=("secrets", "read"),
        summary="List named secrets",
        answer="A page of secrets, without their values",
    )
    async def list_secrets(self, *, limit: Limit = 100, cursor: Cursor = None) -> Listed[SecretView]:
        """List named secrets by name. Tasks refer to them as `${NAME}`; their values are never shown."""
        from smartspider.services.identities import vault

        return await vault.list_secrets(self.installation, cursor=cursor, limit=limit)

    @operation(
        "GET", SECRET, needs=("secrets", "read"), summary="Get a named secret", answer="It, without its value"
    )
    async def get_secret(self, name: Name) -> SecretView:
        """Return a named secret: owner, version, and when it was used. Its value is never shown."""
        from smartspider.services.identities import vault

        return await vault.get_secret(self.installation, name)

    @operation(
        "PUT",
        SECRET,
        needs=("secrets", "write"),
        summary="Set a named secret",
        answer="The secret, without its value",
        body=Body(
            "SecretBody",
            "The value of a secret.",
            examples=({"value": "s3cr3t", "shared": True},),
            is_secret=True,
        ),
    )
    async def set_secret(
        self,
        name: Name,
        *,
        value: Annotated[str, body("The value, up to 64,000 characters.", min_length=1, max_length=64_000)],
        shared: Annotated[
            bool | None,
            body("True: the tasks of all users may refer to it. Null: as before, at first false."),
        ] = None,
    ) -> SecretView:
        """Add a named secret, or replace its value. It is stored encrypted.

        Tasks of its owner refer to it as `${NAME}` in headers and bodies; with `shared`, all tasks.
        """
        from smartspider.services.identities import vault

        return await vault.set_secret(self.installation, self.principal, name, value, is_shared=shared)

    @operation(
        "DELETE",
        SECRET,
        needs=("secrets", "write"),
        summary="Delete a named secret",
        answer="The secret was deleted",
        status=204,
    )
    async def delete_secret(self, name: Name) -> None:
        """Delete a named secret with its value. Runs that refer to it cannot be resumed without it."""
        from smartspider.services.identities import vault

        await vault.delete_secret(self.installation, self.principal, name)

    @operation(
        "GET",
        "/api/vault",
        needs=("vault", "read"),
        summary="Show the state of the vault",
        answer="The number of values by master key",
        tags=TAGS,
    )
    async def get_vault(self) -> VaultView:
        """Return how many values are encrypted, and whether the master key opens them."""
        from smartspider.services.identities import vault

        return await vault.get_vault(self.installation)

    @operation(
        "POST",
        "/api/vault/verify",
        needs=("vault", "write"),
        summary="Verify the vault",
        answer="The values that do not open",
        tags=TAGS,
        is_heavy=True,
    )
    async def verify_vault(self) -> VerifiedView:
        """Open every value, and return those that were altered or moved."""
        from smartspider.services.identities import vault

        return await vault.verify_vault(self.installation)

    @operation(
        "POST",
        "/api/vault/rotate",
        needs=("vault", "write"),
        summary="Rotate the master key",
        answer="The number of values whose keys were encrypted anew",
        tags=TAGS,
        is_heavy=True,
    )
    async def rotate_vault(self) -> RotatedView:
        """Encrypt the key of every value with the current master key, while runs go on.

        A data folder gets a new master key first. Otherwise the settings name the new one and the old one
        (`SMARTSPIDER_MASTER_KEY_OLD`). If it is interrupted, the same call goes on.
        """
        from smartspider.services.identities import vault

        return await vault.rotate_vault(self.installation, self.principal)
