"""Passwords, hashed as they really are."""

from __future__ import annotations

import pytest

from smartspider.core.errors import RequestInvalid
from smartspider.services.access.secrets import Passwords, check_password


async def test_a_password_is_hashed_with_argon2id() -> None:
    passwords = Passwords()
    kept = await passwords.hash("four random words")
    assert kept.startswith("$argon2id$")
    assert kept != await passwords.hash("four random words")
    assert await passwords.verify(kept, "four random words")
    for wrong in ("", "Four random words", "four random words ", "four random words" * 100):
        assert not await passwords.verify(kept, wrong)


@pytest.mark.parametrize("kept", [None, "", "not a hash", "$argon2id$v=19$broken"])
async def test_nobody_is_let_in_where_no_password_is_kept(kept: str | None) -> None:
    for password in ("", "x", "not a hash"):
        assert not await Passwords().verify(kept, password)


async def test_half_characters_are_no_trouble() -> None:
    passwords = Passwords()
    assert not await passwords.verify(await passwords.hash("über \ud800"), "x")


@pytest.mark.parametrize(
    "password", ["", "123456789", "aaaaaaaaaaaa", "abababababab", "x" * 501, " Someone-long "]
)
def test_easy_ones_are_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(RequestInvalid) as error:
        check_password(password, "someone-long")
    assert not password or password not in error.value.message
    assert error.value.hint.startswith("10 to 500 characters, at least 4 different ones, not the user name")


@pytest.mark.parametrize("password", ["four random words", "пароль-пароль", "correct horse", "1234567890"])
def test_others_are_taken(password: str) -> None:
    check_password(password, "bob")
