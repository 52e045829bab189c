"""Somebody changes the audit with other tools: `verify` names the entry, and reading still works."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.backends.sqlite.database import FILE
from smartspider.core.audit import ChainBreak
from smartspider.services.audit import entry_view
from smartspider.store import audit, idempotency, tasks
from smartspider.store.audit import AuditCheck, AuditFilter
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock

ENTRIES = 7
TEXTS = ("actor", "action", "subject", "detail", "previous", "hash")


class Tampered:
    """An audit with a few entries, and a second connection to it that knows no promises."""

    def __init__(self, folder: Path) -> None:
        self.backend = SqliteBackend(folder, ManualClock())
        self.raw = apsw.Connection(str(folder / FILE))
        self.raw.set_busy_timeout(10_000)
        for number in range(ENTRIES):
            work = self.backend.audit.append(f"ann-{number}", "thing.done", f"thing:{number}", {"n": number})
            asyncio.run(work)

    def verify(self) -> AuditCheck:
        return asyncio.run(self.backend.audit.verify())

    def close(self) -> None:
        self.raw.close()
        asyncio.run(self.backend.close())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tampered]:
    tampered = Tampered(tmp_path_factory.mktemp("audit"))
    yield tampered
    tampered.close()


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_any_stored_byte_that_changes_is_found(shared: Tampered, data: Any) -> None:
    """Whatever it becomes, text or not."""
    number = data.draw(st.integers(1, ENTRIES))
    column = data.draw(st.sampled_from(TEXTS))
    ((old,),) = shared.raw.execute(f"SELECT CAST({column} AS BLOB) FROM audit WHERE id = ?", (number,))
    place = data.draw(st.integers(0, len(old) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != old[place]))
    new = old[:place] + bytes([byte]) + old[place + 1 :]
    change = f"UPDATE audit SET {column} = CAST(? AS TEXT) WHERE id = ?"
    shared.raw.execute(change, (new, number))
    try:
        broken = shared.verify().broken
        entries = asyncio.run(shared.backend.audit.entries())
        assert len([entry_view(entry) for entry in entries]) == ENTRIES
    finally:
        shared.raw.execute(change, (old, number))
    assert broken == ChainBreak(number, "was modified")
    assert shared.verify().broken is None


@pytest.mark.parametrize(
    ("sql", "entry", "sound"),
    [
        ("UPDATE audit SET at = at + 0.001 WHERE id = 2", 2, 1),
        ("UPDATE audit SET at = 1e300 WHERE id = 2", 2, 1),
        ("DELETE FROM audit WHERE id = 4", 4, 3),
        ("DELETE FROM audit WHERE id = 1", 1, 0),
        ("DELETE FROM audit WHERE id > 5", 6, 5),
        ("DELETE FROM audit", 1, 0),
        ("UPDATE audit SET id = 99 WHERE id = 3", 3, 2),
        ("INSERT INTO audit SELECT 8, at, actor, action, subject, detail, previous, hash FROM audit", 8, 7),
        ("UPDATE audit_head SET last = 6", 7, 7),
        ("UPDATE audit_head SET hash = 'x'", 7, 7),
        ("UPDATE audit_head SET last = 8", 8, 7),
    ],
)
def test_other_ways_are_found_too(tmp_path: Path, sql: str, entry: int, sound: int) -> None:
    tampered = Tampered(tmp_path)
    tampered.raw.execute(sql.replace("FROM audit", "FROM audit WHERE id = 7") if "INSERT" in sql else sql)
    check = tampered.verify()
    assert check.broken is not None
    assert (check.broken.entry_id, check.head.id) == (entry, sound)
    for one in asyncio.run(tampered.backend.audit.entries()):
        assert entry_view(one).action == "thing.done"
    tampered.close()


def test_what_is_written_after_a_loss_does_not_hide_it(tmp_path: Path) -> None:
    tampered = Tampered(tmp_path)
    tampered.raw.execute("DELETE FROM audit WHERE id = 7")
    entry = asyncio.run(tampered.backend.audit.append("eve", "thing.done", "thing:8", {}))
    assert entry.id == 8
    assert tampered.verify().broken == ChainBreak(7, "is missing")
    tampered.close()


def test_a_break_far_from_the_beginning_is_found(tmp_path: Path) -> None:
    """In a later piece than the first, and at the seam of two."""
    tampered = Tampered(tmp_path)

    async def fill() -> None:
        for number in range(2 * audit.BATCH):
            await tampered.backend.audit.append("ann", "thing.done", "thing:1", {"n": number})

    asyncio.run(fill())
    for number in (audit.BATCH, audit.BATCH + 1, 2 * audit.BATCH + 3):
        tampered.raw.execute("UPDATE audit SET actor = actor || '!' WHERE id = ?", (number,))
        check = tampered.verify()
        assert check.broken == ChainBreak(number, "was modified")
        assert check.head.id == number - 1
        tampered.raw.execute("UPDATE audit SET actor = 'ann' WHERE id = ?", (number,))
    tampered.close()


STATEMENTS = {
    **{f"tasks {name}": (getattr(tasks.SQL, name), values) for name, values in {
        "by_id": (1,), "by_name": ("x",), "version": (1, 1), "versions": (1, 9, 10),
        "unfinished": (1,), "changed": (1, 1.0, 1), "deleted": (1.0, 1),
    }.items()},
    **{f"answers {name}": (getattr(idempotency.SQL, name), values) for name, values in {
        "find": ("x", "x"), "old": (1.0, 10), "give_up": ("x", "x", "x"), "keep": (1, "", b"", "x", "x", "x"),
        "renew": (1.0, "x", "x", "x"), "mark": (b"", "x", "x", "x"), "lapse": (1.0, "x", "x", "x"),
    }.items()},
    **{f"audit {name}": (getattr(audit.SQL, name), values) for name, values in {
        "after": (0, 10), "since": (1.0,),
    }.items()},
    **{f"entries by {only}": (audit.listing_sql(only), values) for only, values in {
        AuditFilter(): (9, 10),
        AuditFilter(action="x"): (9, "x", 10),
        AuditFilter(subject="x"): (9, "x", 10),
        AuditFilter(actor="x"): (9, "x", 10),
        AuditFilter(since=1.0): (9, 1, 10),
        AuditFilter("x", "x", "x", 1.0): (9, "x", "x", "x", 1, 10),
    }.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", STATEMENTS)
def test_rows_are_found_by_a_key_and_come_in_order(shared: Tampered, name: str) -> None:
    """However many tasks, versions and entries there are: nothing is scanned, nothing sorted."""
    sql, values = STATEMENTS[name]
    steps = [step for *_, step in shared.raw.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert steps
    assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step], steps
