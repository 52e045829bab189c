"""Random secrets that are shown once; only their hashes are stored."""

from __future__ import annotations

import hashlib
import secrets
from typing import Literal

Kind = Literal["sst", "ssr", "ssk"]
"""An API token, a refresh token, a WebSocket ticket."""
MAX_LENGTH = 4096
"""Maximum length of a secret or access token."""


def new_secret(kind: Kind) -> str:
    """Return a new secret of 32 random bytes."""
    return f"{kind}_{secrets.token_urlsafe(32)}"


def hash_secret(secret: str | bytes) -> bytes:
    """Return the hash that is stored. Secrets are random, so a fast hash is as safe as a slow one."""
    return hashlib.sha256(secret.encode("utf-8", "replace") if isinstance(secret, str) else secret).digest()
