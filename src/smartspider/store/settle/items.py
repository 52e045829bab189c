"""Storing the items of a settle: numbered, and compared with stored ones if the task says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from smartspider.core.frontier.verdict import Close
from smartspider.core.items.checksum import item_checksum
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.runs.run import first_id, run_of
from smartspider.store import statements
from smartspider.store.database import Connection
from smartspider.store.settle.fields import FilledFields
from smartspider.store.settle.run import CounterDeltas, LedgerRun

SQL = statements.load("settle.sql", __package__)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class AddedItems(NamedTuple):
    """The result of adding the items of a page."""

    stored: int
    """Stored rows of the page."""
    has_new: bool
    """True if any of them was unknown before, or if items are not compared."""


def item_writer(connection: Connection, run: LedgerRun, deltas: CounterDeltas) -> ItemWriter:
    """Return the writer for the items of a run."""
    compares = run.stored_policies is not None and bool(run.policies.items.keys)
    return (DedupItemWriter if compares else ItemWriter)(connection, run, deltas)


class ItemWriter:
    """Writes items that are not compared: all of them, up to the limit."""

    def __init__(self, connection: Connection, run: LedgerRun, deltas: CounterDeltas) -> None:
        self._connection = connection
        self._run_id = run.run_id
        self._run = run
        self._deltas = deltas
        self._rows: list[tuple[int, int, str, int]] = []
        self._fields = FilledFields(run.fields)

    def load_keys(self, closes: Sequence[Close]) -> None:
        """Look up the keys of all items of a group; nothing if they are not compared."""

    def add(self, url_id: int, close: Close) -> AddedItems:
        """Add the items of a page."""
        room = self._run.item_room(self._deltas)
        kept = close.items if room is None else close.items[:room]
        number = first_id(self._run_id) + self._run.next_item
        for item in kept:
            data = _encode(item)
            self._rows.append((number, url_id, data.decode(), item_checksum(number, url_id, data)))
            number += 1
        self._run.next_item += len(kept)
        self._deltas.items += len(kept)
        self._fields.record(kept)
        return AddedItems(len(kept), has_new=True)

    def record_page(self, page: str, url_id: int, close: Close) -> None:
        """Count what a page brought, stored or not."""
        if close.brought is not None:
            self._fields.record_page(page, url_id, close.items, brought=close.brought)
        if close.has_undecodable:
            self._fields.record_undecodable(url_id)

    def write(self) -> None:
        """Write all added items. Their fields are written with the run."""
        self._connection.executemany(SQL.add_item, self._rows)
        self._run.fields = self._fields.stored


class DedupItemWriter(ItemWriter):
    """Writes items that are compared, also with those of the same settle. Everything is decided in memory."""

    def __init__(self, connection: Connection, run: LedgerRun, deltas: CounterDeltas) -> None:
        super().__init__(connection, run, deltas)
        self._dedup: ItemDedup = run.policies.items
        self._scopes = self._dedup_scopes()
        self._new: dict[int, tuple[int, str]] = {}
        self._known: dict[tuple[int, bytes], int] = {}
        self._claimed: dict[tuple[int, bytes], int] = {}
        self._gone: set[int] = set()
        self._changed: dict[int, str] = {}
        self._gave_less: Counter[int] = Counter()
        self._old: dict[int, tuple[int, str]] = {}

    def _dedup_scopes(self) -> tuple[int, ...]:
        """Return where keys are looked up. With `last`, items of a task replace those of their run only."""
        if self._dedup.scope == "run":
            return (self._run_id,)
        task = -(self._run.task_id or 0)
        return (task,) if self._dedup.keep == "first" else (self._run_id, task)

    def add(self, url_id: int, close: Close) -> AddedItems:
        """Add the items of a page: known ones are dropped, or replace their duplicates."""
        if close.items and not close.keys:
            return super().add(url_id, close)
        count, has_new = 0, False
        for item, keys in zip(close.items, close.keys, strict=True):
            room = self._run.item_room(self._deltas)
            if room is not None and room <= 0:
                break
            twins = self._twins(keys)
            if twins and self._dedup.keep == "first":
                self._deltas.duplicates += 1
                self._update(twins, item)
                continue
            data = _encode(item).decode()
            self._fields.record([item])
            count += 1 - self._replace(twins, data, url_id)
            self._claim(self._store(url_id, data), keys)
            has_new = has_new or not twins
        return AddedItems(count, has_new)

    def write(self) -> None:
        """Write everything, deletions first."""
        connection = self._connection
        gone = [(item_id,) for item_id in sorted(self._gone)]
        connection.executemany(SQL.drop_keys, gone)
        connection.executemany(SQL.drop_item, gone)
        less = [(count, page_id) for page_id, count in sorted(self._gave_less.items())]
        connection.executemany(SQL.gave_less, less)
        changed = [
            (data, item_checksum(item_id, self._stored(item_id)[0], data.encode()), item_id)
            for item_id, data in sorted(self._changed.items())
        ]
        connection.executemany(SQL.set_item, changed)
        self._rows += [
            (item_id, url_id, data, item_checksum(item_id, url_id, data.encode()))
            for item_id, (url_id, data) in self._new.items()
        ]
        super().write()
        claims = sorted((*place, item_id) for place, item_id in self._claimed.items())
        connection.executemany(SQL.put_key, [claim for claim in claims if claim[2] not in self._gone])

    def _store(self, url_id: int, data: str) -> int:
        """Number an item and return its id."""
        item_id = first_id(self._run_id) + self._run.next_item
        self._new[item_id] = (url_id, data)
        self._run.next_item += 1
        self._deltas.items += 1
        return item_id

    def load_keys(self, closes: Sequence[Close]) -> None:
        """Look up which keys are known, and their items if these may change."""
        connection = self._connection
        wanted = {
            (scope, key) for close in closes for own in close.keys for key in own for scope in self._scopes
        }
        for scope, key, item_id in connection.executemany(SQL.find_key, sorted(wanted)):
            self._known[scope, key] = item_id
        if self._dedup.keep == "last" or self._dedup.update:
            twins = sorted(set(self._known.values()))
            for item_id, page_id, data in connection.executemany(SQL.get_item, [(twin,) for twin in twins]):
                self._old[item_id] = (page_id, data)

    def _twins(self, keys: tuple[bytes, ...]) -> list[int]:
        """Return the ids of items with one of the keys."""
        found = (self._known.get((scope, key)) for key in keys for scope in self._scopes)
        return [twin for twin in dict.fromkeys(found) if twin is not None and twin not in self._gone]

    def _claim(self, item_id: int, keys: tuple[bytes, ...]) -> None:
        for scope in self._scopes:
            for key in keys:
                self._known[scope, key] = self._claimed[scope, key] = item_id

    def _replace(self, twins: list[int], data: str, url_id: int) -> int:
        """Delete duplicates of the run; other runs keep theirs. Return how many were of the page itself."""
        own, is_other = 0, False
        for twin in twins:
            page_id, before = self._stored(twin)
            is_other = is_other or before != data
            if run_of(twin) != self._run_id:
                continue
            self._new.pop(twin, None)
            self._gone.add(twin)
            self._deltas.items -= 1
            self._deltas.duplicates += 1
            if page_id == url_id:
                own += 1
            else:
                self._gave_less[page_id] += 1
        self._deltas.updated += is_other
        return own

    def _update(self, twins: list[int], item: Item) -> None:
        """Overwrite the update fields of duplicates; fields without a value in the item stay."""
        news = {name: item[name] for name in self._dedup.update if item.get(name) is not None}
        if not news:
            return
        self._fields.record([news])
        for twin in twins:
            page_id, before = self._stored(twin)
            old: dict[str, Any] = _decode(before)
            if all(_encode(old.get(name)) == _encode(value) for name, value in news.items()):
                continue
            after = _encode({**old, **news}).decode()
            if twin in self._new:
                self._new[twin] = (page_id, after)
            else:
                self._changed[twin] = after
            self._deltas.updated += 1

    def _stored(self, item_id: int) -> tuple[int, str]:
        """Return page and data of an item, as they will be after this settle."""
        if item_id in self._new:
            return self._new[item_id]
        page_id, data = self._old.get(
            item_id, (0, "{}")
        )  # missing only in a damaged store, which fsck repairs
        return page_id, self._changed.get(item_id) or data
