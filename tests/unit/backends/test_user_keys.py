"""Users, tokens, sessions and tickets are found by keys, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.backends.sqlite.database import FILE, connect
from smartspider.backends.sqlite.schema import prepare
from smartspider.store.access import sessions, tokens, users

STATEMENTS = {
    **{f"users {name}": (getattr(users.SQL, name), values) for name, values in {
        "any_user": (), "by_id": (1,), "by_name": ("x",), "after": (0, 10), "change": ("", "", None, 1, 1),
        "delete": (1,), "other_admin": (1,), "first_admin": (), "end_sessions": (1,),
        "end_browser_sessions": (1,), "number_session": (1,),
    }.items()},
    **{f"tokens {name}": (getattr(tokens.SQL, name), values) for name, values in {
        "same_name": ("x", 1.0), "by_id": (1,), "by_hash": (b"",), "after": (0, 10), "after_of": ("x", 0, 10),
        "good_of": ("x",), "revoke": (1.0, 1), "used": (1.0, 1, 60.0),
    }.items()},
    **{f"sessions {name}": (getattr(sessions.SQL, name), values) for name, values in {
        "by_hash": (b"",), "used": (1.0, b""), "end_family": ("f",), "in_family": ("f", "f"),
        "end_browser_family": ("f",), "browser_session": (b"",), "browser_session_of": ("f",),
        "old_browser_sessions": (1.0, 10), "forget_browser_session": (b"",), "use_ticket": (b"", "", ""),
        "old_refreshes": (1.0, 10), "old_tickets": (1.0, 10),
        "forget_refresh": (b"",), "forget_ticket": (b"",),
    }.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_rows_are_found_by_a_key_and_come_in_order(tmp_path: Path, name: str) -> None:
    prepare(tmp_path)
    connection = connect(tmp_path / FILE)
    sql, values = STATEMENTS[name]
    steps = [step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    connection.close()
    assert steps
    is_first_of_all = name in ("users any_user", "users first_admin")  # stops at the first entry of an index
    scans = [step for step in steps if step.startswith("SCAN") and not is_first_of_all]
    assert not scans + [step for step in steps if "TEMP B-TREE" in step], steps


def test_no_statement_is_left_out() -> None:
    written = {
        f"{prefix} {name}"
        for prefix, module in (("users", users), ("tokens", tokens), ("sessions", sessions))
        for name, sql in vars(module.SQL).items()
        if not sql.startswith("INSERT")
    }
    assert written == set(STATEMENTS)
