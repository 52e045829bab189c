"""The keys of an installation, all derived from one master key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from smartspider.core.errors import SettingInvalid, StoreUnavailable

FILE = "master.key"
MIN_LENGTH = 16
_SALT = b"smartspider keys 1"


class Keys:
    """Keys for one purpose each; none of them reveals another one or the master key."""

    def __init__(self, master: bytes) -> None:
        self._root = hmac.digest(_SALT, master, "sha256")

    def derive(self, purpose: str) -> bytes:
        """Return a 32-byte key for one purpose (HKDF-SHA256)."""
        return hmac.digest(self._root, purpose.encode() + b"\x01", hashlib.sha256)

    def webhook_secret(self, target_id: int) -> str:
        """Return the secret that signs webhook notifications to a target."""
        key = self.derive(f"webhook {target_id}")
        return "whsec_" + base64.urlsafe_b64encode(key).decode().rstrip("=")


def open_keys(folder: Path, master_key: str = "") -> Keys:
    """Return the keys of a master key, or of the one in the data folder, which is created if needed."""
    if not master_key:
        return Keys(_stored_key(folder / FILE).encode())
    if len(master_key) < MIN_LENGTH:
        raise SettingInvalid(  # the value is left out: it is a secret
            f"SMARTSPIDER_MASTER_KEY has fewer than {MIN_LENGTH} characters",
            hint="create one with `openssl rand -hex 32`",
        )
    return Keys(master_key.encode("utf-8", "surrogateescape"))


def _stored_key(path: Path) -> str:
    try:
        if not path.exists():
            _create(path)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise StoreUnavailable(f"{path} cannot be used: {reason}", hint="check the data folder") from error
    if len(key) < MIN_LENGTH:
        raise StoreUnavailable(
            f"{path} does not contain a key",
            hint="restore it, or delete it: then all users must sign in again and webhooks get new secrets",
        )
    return key


def _create(path: Path) -> None:
    """Write a new key to a temporary file and link it into place, so that only one of two processes creates
    it.
    """
    new = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first: its key is used
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
