"""The chain of the audit: whatever is done to it behind our back is found, at the right place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.audit import (
    START,
    AuditEntry,
    Break,
    Head,
    entry_hash,
    first_break,
    missing_end,
    sealed,
)

TEXTS = st.text(max_size=8)
ACTS = st.tuples(st.floats(allow_nan=False), TEXTS, TEXTS, TEXTS, st.binary(max_size=8))
FIELDS = ("id", "at", "actor", "action", "subject", "detail", "previous", "hash")


def chain(acts: list[Any]) -> list[AuditEntry]:
    head, entries = START, []
    for at, actor, action, subject, detail in acts:
        entry = sealed(AuditEntry(0, at, actor, action, subject, detail, "", ""), head)
        entries.append(entry)
        head = Head(entry.id, entry.hash)
    return entries


CHAINS = st.lists(ACTS, min_size=1, max_size=6).map(chain)


@given(CHAINS)
def test_a_chain_that_nobody_touched_is_whole(entries: list[AuditEntry]) -> None:
    assert first_break(entries) is None
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))


@given(CHAINS, st.data())
def test_any_change_of_any_field_is_found_where_it_was_made(entries: list[AuditEntry], data: Any) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    field = data.draw(st.sampled_from(FIELDS))
    old = getattr(entries[place], field)
    kind = {int: st.integers(), float: st.floats(allow_nan=False), str: TEXTS, bytes: st.binary(max_size=8)}
    new = data.draw(kind[type(old)].filter(lambda value: repr(value) != repr(old)))
    entries[place] = msgspec.structs.replace(entries[place], **{field: new})
    found = first_break(entries)
    assert found is not None
    assert found.entry_id == place + 1


@given(CHAINS, st.data())
def test_an_entry_that_was_taken_out_is_missed(entries: list[AuditEntry], data: Any) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    end = Head(entries[-1].id, entries[-1].hash)
    del entries[place]
    last = Head(entries[-1].id, entries[-1].hash) if entries else START
    assert (first_break(entries) or missing_end(last, end)) == Break(place + 1, "is missing")


@given(CHAINS, ACTS, st.data())
def test_an_entry_that_was_put_in_or_made_anew_breaks_what_follows(
    entries: list[AuditEntry], act: Any, data: Any
) -> None:
    """Also one with a right hash of its own: the entries after it were bound to another."""
    place = data.draw(st.integers(0, len(entries) - 1))
    end = Head(entries[-1].id, entries[-1].hash)
    at, actor, action, subject, detail = act
    before = START if place == 0 else Head(entries[place - 1].id, entries[place - 1].hash)
    forged = sealed(AuditEntry(0, at, actor, action, subject, detail + b"!", "", ""), before)
    if forged.hash == entries[place].hash:
        return
    entries[place] = forged
    last = Head(entries[-1].id, entries[-1].hash)
    found = first_break(entries) or missing_end(last, end)
    assert found is not None
    assert found.entry_id == min(place + 2, len(entries))


@given(CHAINS, st.integers(0, 6))
def test_a_chain_may_be_looked_at_in_pieces(entries: list[AuditEntry], cut: int) -> None:
    first, rest = entries[:cut], entries[cut:]
    head = Head(first[-1].id, first[-1].hash) if first else START
    assert first_break(first) is None
    assert first_break(rest, head) is None
    if first and rest:
        assert first_break(rest) is not None


def test_what_stands_beside_each_other_is_not_taken_for_one() -> None:
    one = AuditEntry(1, 1.0, "ab", "c", "", b"", START.hash, "")
    other = AuditEntry(1, 1.0, "a", "bc", "", b"", START.hash, "")
    assert entry_hash(one) != entry_hash(other)


def test_the_hash_is_that_of_the_parts_with_their_lengths() -> None:
    """Anybody can work it out, in any language."""
    entry = AuditEntry(1, 1.5, "cli:ü", "task.created", "task:1", b"{}", "00", "")
    import hashlib

    text = "1:1,3:1.5,6:cli:ü,12:task.created,6:task:1,2:{},2:00,"
    assert entry_hash(entry) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("last", "head", "found"),
    [
        (Head(3, "a"), Head(3, "a"), None),
        (Head(3, "a"), Head(5, "b"), Break(4, "is missing")),
        (Head(3, "a"), Head(3, "b"), Break(3, "is not the newest entry that was written")),
        (Head(3, "a"), Head(2, "b"), Break(3, "is not the newest entry that was written")),
    ],
)
def test_the_end_must_be_the_end_that_was_written(last: Head, head: Head, found: Break | None) -> None:
    assert missing_end(last, head) == found
