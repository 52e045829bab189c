"""Password hashes that take no time; `tests/unit/services/test_passwords.py` has the real ones."""

from __future__ import annotations

from argon2 import PasswordHasher

from smartspider.services.access.secrets import Passwords


def quick_passwords() -> Passwords:
    return Passwords(lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
