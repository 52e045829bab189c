"""The keys of an installation: all derived from one master key, in the settings or in the data folder."""

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
SHORTEST = 16
_SALT = b"smartspider keys 1"


class Keys:
    """Keys for one purpose each; none of them tells anything about another or about the master key."""

    def __init__(self, master: bytes) -> None:
        self._root = hmac.digest(_SALT, master, "sha256")

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose (HKDF-SHA256)."""
        return hmac.digest(self._root, purpose.encode() + b"\x01", hashlib.sha256)

    def webhook_secret(self, target_id: int) -> str:
        """What notices to a target are signed with."""
        key = self.derived(f"webhook {target_id}")
        return "whsec_" + base64.urlsafe_b64encode(key).decode().rstrip("=")


def open_keys(folder: Path, master_key: str = "") -> Keys:
    """The keys of an installation. Without a master key given, the data folder has one or gets one."""
    if not master_key:
        return Keys(_kept(folder / FILE).encode())
    if len(master_key) < SHORTEST:
        raise SettingInvalid(  # not repeated: it is a secret
            f"SMARTSPIDER_MASTER_KEY has fewer than {SHORTEST} characters",
            hint="`openssl rand -hex 32` makes a good one",
        )
    return Keys(master_key.encode("utf-8", "surrogateescape"))


def _kept(path: Path) -> str:
    try:
        if not path.exists():
            _make(path)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise StoreUnavailable(f"{path} cannot be used: {reason}", hint="check the data folder") from error
    if len(key) < SHORTEST:
        raise StoreUnavailable(
            f"{path} does not hold a key",
            hint="restore it; or delete it, and everybody has to sign in again and webhooks get new secrets",
        )
    return key


def _make(path: Path) -> None:
    """Write a new key beside its place and link it there whole, so that of two processes one makes it."""
    new = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was first: its key counts
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
