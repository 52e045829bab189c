"""Secrets that are handed out once. Whoever keeps them keeps only their hash."""

from __future__ import annotations

import hashlib
import secrets
from typing import Literal

Kind = Literal["sst", "ssr", "ssk"]
"""A token of a program, a refresh, a ticket."""
LONGEST = 4096
"""No secret or access token of ours is longer."""


def new_secret(kind: Kind) -> str:
    """A new secret, of 32 random bytes."""
    return f"{kind}_{secrets.token_urlsafe(32)}"


def hash_secret(secret: str | bytes) -> bytes:
    """What is kept of a secret. They are random, so a fast hash is as good as a slow one."""
    return hashlib.sha256(secret.encode("utf-8", "replace") if isinstance(secret, str) else secret).digest()
