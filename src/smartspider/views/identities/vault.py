"""Views of named secrets and of the vault. No view has a value."""

from __future__ import annotations

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.vault import SealedKind, SecretRecord


class SecretView(msgspec.Struct, frozen=True):
    """A named secret. Its value is never shown."""

    name: str
    owner: str
    shared: bool
    """True if the tasks of all users may refer to it, not only those of its owner."""
    version: int
    created_at: str
    updated_at: str
    used_at: str | None
    """When a run or a preview opened it last."""


class VaultView(msgspec.Struct, frozen=True):
    """The encrypted values of an installation, by the master key that opens them."""

    key_id: str
    """The id of the master key, which reveals nothing of it."""
    values: int
    current: int
    old: int
    """Values that only the old master key opens; a rotation encrypts their keys anew."""
    lost: int
    """Values that no known master key opens."""


class DamagedView(msgspec.Struct, frozen=True):
    """A value that does not open."""

    kind: SealedKind
    id: str


class VerifiedView(msgspec.Struct, frozen=True):
    """The result of opening every value of the vault."""

    ok: bool
    values: int
    damaged: list[DamagedView]
    """At most 20."""


class RotatedView(msgspec.Struct, frozen=True):
    """The result of a rotation."""

    key_id: str
    rewrapped: int


def secret_view(record: SecretRecord) -> SecretView:
    """Return the view of a named secret."""
    return SecretView(
        *(record.name, record.owner, record.is_shared, record.version),
        *(format_time(record.created_at), format_time(record.updated_at)),
        None if record.used_at is None else format_time(record.used_at),
    )
