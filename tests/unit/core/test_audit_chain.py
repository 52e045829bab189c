"""The chain of the audit: whatever is done to it behind our back is found, at the right place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.core.audit import (
    CHAIN_START,
    AuditEntry,
    AuditHead,
    ChainBreak,
    check_end,
    entry_hash,
    find_break,
    seal,
)

TEXTS = st.text(max_size=8)
ACTS = st.tuples(st.floats(allow_nan=False), TEXTS, TEXTS, TEXTS, st.binary(max_size=8))
FIELDS = ("id", "at", "actor", "action", "subject", "detail", "previous", "hash")


def chain(acts: list[Any]) -> list[AuditEntry]:
    head, entries = CHAIN_START, []
    for at, actor, action, subject, detail in acts:
        entry = seal(AuditEntry(0, at, actor, action, subject, detail, "", ""), head)
        entries.append(entry)
        head = AuditHead(entry.id, entry.hash)
    return entries


CHAINS = st.lists(ACTS, min_size=1, max_size=6).map(chain)


@given(CHAINS)
def test_a_chain_that_nobody_touched_is_whole(entries: list[AuditEntry]) -> None:
    assert find_break(entries) is None
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))


@given(CHAINS, st.data())
def test_any_change_of_any_field_is_found_where_it_was_made(entries: list[AuditEntry], data: Any) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    field = data.draw(st.sampled_from(FIELDS))
    old = getattr(entries[place], field)
    kind = {int: st.integers(), float: st.floats(allow_nan=False), str: TEXTS, bytes: st.binary(max_size=8)}
    new = data.draw(kind[type(old)].filter(lambda value: repr(value) != repr(old)))
    entries[place] = msgspec.structs.replace(entries[place], **{field: new})
    found = find_break(entries)
    assert found is not None
    assert found.entry_id == place + 1


@given(CHAINS, st.data())
def test_an_entry_that_was_taken_out_is_missed(entries: list[AuditEntry], data: Any) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    end = AuditHead(entries[-1].id, entries[-1].hash)
    del entries[place]
    last = AuditHead(entries[-1].id, entries[-1].hash) if entries else CHAIN_START
    assert (find_break(entries) or check_end(last, end)) == ChainBreak(place + 1, "is missing")


@given(CHAINS, ACTS, st.data())
def test_an_entry_that_was_put_in_or_made_anew_breaks_what_follows(
    entries: list[AuditEntry], act: Any, data: Any
) -> None:
    """Also one with a right hash of its own: the entries after it were bound to another."""
    place = data.draw(st.integers(0, len(entries) - 1))
    end = AuditHead(entries[-1].id, entries[-1].hash)
    at, actor, action, subject, detail = act
    before = CHAIN_START if place == 0 else AuditHead(entries[place - 1].id, entries[place - 1].hash)
    forged = seal(AuditEntry(0, at, actor, action, subject, detail + b"!", "", ""), before)
    if forged.hash == entries[place].hash:
        return
    entries[place] = forged
    last = AuditHead(entries[-1].id, entries[-1].hash)
    found = find_break(entries) or check_end(last, end)
    assert found is not None
    assert found.entry_id == min(place + 2, len(entries))


@given(CHAINS, st.integers(0, 6))
def test_a_chain_may_be_looked_at_in_pieces(entries: list[AuditEntry], cut: int) -> None:
    first, rest = entries[:cut], entries[cut:]
    head = AuditHead(first[-1].id, first[-1].hash) if first else CHAIN_START
    assert find_break(first) is None
    assert find_break(rest, head) is None
    if first and rest:
        assert find_break(rest) is not None


def test_what_stands_beside_each_other_is_not_taken_for_one() -> None:
    one = AuditEntry(1, 1.0, "ab", "c", "", b"", CHAIN_START.hash, "")
    other = AuditEntry(1, 1.0, "a", "bc", "", b"", CHAIN_START.hash, "")
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
        (AuditHead(3, "a"), AuditHead(3, "a"), None),
        (AuditHead(3, "a"), AuditHead(5, "b"), ChainBreak(4, "is missing")),
        (AuditHead(3, "a"), AuditHead(3, "b"), ChainBreak(3, "is not the newest entry that was written")),
        (AuditHead(3, "a"), AuditHead(2, "b"), ChainBreak(3, "is not the newest entry that was written")),
    ],
)
def test_the_end_must_be_the_end_that_was_written(
    last: AuditHead, head: AuditHead, found: ChainBreak | None
) -> None:
    assert check_end(last, head) == found
