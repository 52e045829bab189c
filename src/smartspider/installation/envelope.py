"""Envelope encryption: each value has a random data key, which a master key wraps (AES-256-GCM)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from smartspider.core.vault import SealedValue
from smartspider.installation.keys import KeyRing, Keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = 12
KEY = 32


class NotOpened(Exception):
    """No master key opens a value, or it was altered or moved."""


def seal(keys: Keys, context: bytes, value: bytes) -> SealedValue:
    """Encrypt a value that only opens with the same context."""
    data_key = os.urandom(KEY)
    return SealedValue(
        keys.key_id, _encrypt(keys.wrapping_key, context, data_key), _encrypt(data_key, context, value)
    )


def unseal(ring: KeyRing, context: bytes, sealed: SealedValue) -> bytes:
    """Decrypt a value; raise `NotOpened` if it is not what was sealed with this context."""
    return _decrypt(_unwrap(ring, context, sealed), context, sealed.value)


def rewrap(ring: KeyRing, context: bytes, sealed: SealedValue) -> SealedValue:
    """Return the value with its data key wrapped by the current master key."""
    data_key = _unwrap(ring, context, sealed)
    wrapped = _encrypt(ring.current.wrapping_key, context, data_key)
    return SealedValue(ring.current.key_id, wrapped, sealed.value)


def _unwrap(ring: KeyRing, context: bytes, sealed: SealedValue) -> bytes:
    keys = ring.find(sealed.key_id)
    if keys is None:
        raise NotOpened
    return _decrypt(keys.wrapping_key, context, sealed.data_key)


def _encrypt(key: bytes, context: bytes, value: bytes) -> bytes:
    nonce = os.urandom(NONCE)
    return nonce + _cipher(key).encrypt(nonce, value, context)


def _decrypt(key: bytes, context: bytes, data: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return _cipher(key).decrypt(data[:NONCE], data[NONCE:], context)
    except (InvalidTag, ValueError) as error:
        raise NotOpened from error


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
