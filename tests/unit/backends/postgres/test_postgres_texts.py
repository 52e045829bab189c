"""Texts that PostgreSQL cannot hold."""

from __future__ import annotations

import pytest

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.logs import LogLine
from smartspider.store.logs.terms import LogFilter
from smartspider.store.tasks import TaskFilter
from smartspider_testing.backends.postgres import PostgresBackend


async def test_nothing_is_found_by_a_text_with_a_zero_byte(backend: PostgresBackend) -> None:
    await backend.users.add_user("a", "", "admin", actor="x")
    for name in ("a\0", "\0", "\0a"):
        with pytest.raises(NotFound):
            await backend.users.get_user(name)
        with pytest.raises(NotFound):
            await backend.tasks.get(name)
        only = TaskFilter(prefix=name, q=name, owner=name)
        assert await backend.tasks.find(only, "name", after=name) == []
        assert (await backend.logs.before(LogFilter(host=name, text=name))).lines == []


async def test_a_text_with_a_zero_byte_is_refused_in_our_words(backend: PostgresBackend) -> None:
    with pytest.raises(RequestInvalid, match="cannot be stored") as caught:
        await backend.users.add_user("a\0b", "", "admin", actor="x")
    assert caught.value.hint
    assert await backend.users.find_users() == []
    await backend.users.add_user("b", "", "admin", actor="x")


async def test_a_line_with_a_zero_byte_is_kept_with_a_sign_for_it(backend: PostgresBackend) -> None:
    await backend.logs.add(
        [LogLine(backend.clock.now(), 20, "a.b", "a\0b", host="c\0d", fields={"e": "f\0"})]
    )
    (found,) = (await backend.logs.before(LogFilter())).lines
    assert (found.line.text, found.line.host) == ("a\ufffdb", "c\ufffdd")
    assert found.line.fields == {"e": "f\0"}
