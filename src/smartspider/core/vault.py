"""Values of the vault: named secrets as they are listed, and sealed values as they are stored."""

from __future__ import annotations

from typing import Literal

import msgspec

SealedKind = Literal["cookie", "proxy", "secret"]
"""The kinds of records that have a sealed value."""


class SecretRecord(msgspec.Struct, frozen=True):
    """A named secret, without its value."""

    id: int
    name: str
    owner: str
    is_shared: bool
    """True if the tasks of all users may refer to it, not only those of its owner."""
    version: int
    created_at: float
    updated_at: float
    used_at: float | None


class SealedValue(msgspec.Struct, frozen=True):
    """A value encrypted with a data key of its own, and that key encrypted ("wrapped") with a master key.

    Both are bound to the record, so that they open nowhere else.
    """

    key_id: str
    """The id of the master key."""
    data_key: bytes
    value: bytes


class SealedRecord(msgspec.Struct, frozen=True):
    """A sealed value and the record it belongs to."""

    kind: SealedKind
    id: int
    version: int
    sealed: SealedValue
