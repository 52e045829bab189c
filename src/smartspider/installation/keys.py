"""The keys of an installation, all derived from one master key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from smartspider.core.errors import SettingInvalid, StoreUnavailable

FILE = "master.key"
OLD_FILE = "master.key.old"
"""The key before, while the vault of a data folder is rotated."""
MIN_LENGTH = 16
_SALT = b"smartspider keys 1"


class Keys:
    """Keys for one purpose each; none of them reveals another one or the master key."""

    def __init__(self, master: bytes) -> None:
        self._root = hmac.digest(_SALT, master, "sha256")

    def derive(self, purpose: str) -> bytes:
        """Return a 32-byte key for one purpose (HKDF-SHA256)."""
        return hmac.digest(self._root, purpose.encode() + b"\x01", hashlib.sha256)

    @cached_property
    def key_id(self) -> str:
        """The id of the master key, which reveals nothing of it."""
        return self.derive("key id")[:8].hex()

    @cached_property
    def wrapping_key(self) -> bytes:
        """The key that wraps the data keys of sealed values."""
        return self.derive("vault")

    def webhook_secret(self, target_id: int) -> str:
        """Return the secret that signs webhook notifications to a target."""
        key = self.derive(f"webhook {target_id}")
        return "whsec_" + base64.urlsafe_b64encode(key).decode().rstrip("=")


class KeyRing(msgspec.Struct, frozen=True):
    """The keys of the current master key, and of the one before while it is replaced."""

    current: Keys
    old: Keys | None = None

    def find(self, key_id: str) -> Keys | None:
        """Return the keys with an id."""
        known = (self.current, self.old)
        return next((keys for keys in known if keys is not None and keys.key_id == key_id), None)


def open_keys(folder: Path, master_key: str = "", old_key: str = "") -> KeyRing:
    """Return the keys of the master keys of the settings, or of those in the data folder, where the first one
    is created if needed.
    """
    if not master_key:
        old = _read_key(folder / OLD_FILE) if (folder / OLD_FILE).exists() else old_key
        return KeyRing(
            Keys(_stored_key(folder / FILE).encode()), _given_key(old, "SMARTSPIDER_MASTER_KEY_OLD")
        )
    current = _given_key(master_key, "SMARTSPIDER_MASTER_KEY")
    assert current is not None  # noqa: S101 - it is not empty
    return KeyRing(current, _given_key(old_key, "SMARTSPIDER_MASTER_KEY_OLD"))


def _given_key(key: str, setting: str) -> Keys | None:
    if not key:
        return None
    if len(key) < MIN_LENGTH:
        raise SettingInvalid(  # the value is left out: it is a secret
            f"{setting} has fewer than {MIN_LENGTH} characters",
            hint="create one with `openssl rand -hex 32`",
        )
    return Keys(key.encode("utf-8", "surrogateescape"))


def begin_rotation(folder: Path) -> None:
    """Give the data folder another master key, and keep the one before as `OLD_FILE`.

    A rotation that was interrupted goes on: with the old key aside, the current one is the new one.
    """
    old, current = folder / OLD_FILE, folder / FILE
    if not old.exists():
        _create(old, _stored_key(current))
    if _stored_key(current) == _read_key(old):
        new = current.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
        _write_key(new, secrets.token_hex(32))
        new.replace(current)


def end_rotation(folder: Path) -> None:
    """Delete the old key of a data folder, which opens nothing any more."""
    (folder / OLD_FILE).unlink(missing_ok=True)


def _stored_key(path: Path) -> str:
    try:
        if not path.exists():
            _create(path, secrets.token_hex(32))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    return _read_key(path)


def _read_key(path: Path) -> str:
    try:
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, error) from error
    if len(key) < MIN_LENGTH:
        raise StoreUnavailable(
            f"{path} does not contain a key",
            hint="restore it, or delete it: then all users must sign in again and webhooks get new secrets",
        )
    return key


def _unusable(path: Path, error: OSError | UnicodeDecodeError) -> StoreUnavailable:
    reason = getattr(error, "strerror", None) or "it is not a text file"
    return StoreUnavailable(f"{path} cannot be used: {reason}", hint="check the data folder")


def _create(path: Path, key: str) -> None:
    """Write a key to a temporary file and link it into place, so that one of two processes creates it."""
    new = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        _write_key(new, key)
        with suppress(FileExistsError):  # another process was first: its key is used
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


def _write_key(path: Path, key: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{key}\n")
        file.flush()
        os.fsync(file.fileno())
