"""Secrets from the settings: `SMARTSPIDER_VAR_NAME` of the environment, of `.env`, or of a file."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from smartspider.installation.settings import Settings


class SettingSecrets(msgspec.Struct, frozen=True):
    """See `interfaces/secret_source.py`."""

    settings: Settings

    async def find(self, names: Collection[str]) -> dict[str, str]:
        """Return the values of the names that the settings have."""
        variables = self.settings.variables
        return {name: variables[name] for name in names if name in variables}
