"""The secrets that tasks refer to: `SMARTSPIDER_VAR_NAME` of the settings, then those of the vault."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager

import msgspec

from smartspider.installation.settings import Settings
from smartspider.installation.vault import Vault
from smartspider.interfaces.secret_source import SecretUse


class InstalledSecrets(msgspec.Struct, frozen=True):
    """See `interfaces/secret_source.py`. A setting of this process goes before a secret of the vault."""

    settings: Settings
    vault: Vault
    open_other: Callable[[], AbstractContextManager[Vault | None]] | None = None
    """Opens the vault where commands of a person find names that the first one does not know."""

    async def find(self, names: Collection[str], use: SecretUse) -> dict[str, str]:
        """Return the values of the names that have one."""
        variables = self.settings.variables
        found = {name: variables[name] for name in names if name in variables}
        found |= await _open(self.vault, set(names) - found.keys(), use)
        missing = set(names) - found.keys()
        if missing and use.owner is None and self.open_other is not None:
            with self.open_other() as other:
                found |= {} if other is None else await _open(other, missing, use)
        return found


async def _open(vault: Vault, names: Collection[str], use: SecretUse) -> dict[str, str]:
    return await vault.open_secrets(names, owner=use.owner, opened_by=use.opened_by)
