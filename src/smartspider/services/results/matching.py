"""Match the rows of two runs in a temporary database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.requests.request import content_fingerprint
from smartspider.store.results.rows import StoredItem
from smartspider.views.results import ChangeKind

if TYPE_CHECKING:
    import apsw

CACHE_KB = 16_000
"""Cache size of the temporary database."""

_SCHEMA = """
    CREATE TABLE before (id INTEGER PRIMARY KEY, url TEXT, key BLOB, content BLOB, data BLOB, mate INTEGER);
    CREATE TABLE after (id INTEGER PRIMARY KEY, url TEXT, key BLOB, content BLOB, data BLOB, mate INTEGER);
    CREATE TABLE known (key BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE pair (after_id INTEGER, before_id INTEGER);
    CREATE TABLE excluded (url TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_encode = msgspec.json.Encoder(order="sorted").encode


class MatchKey(msgspec.Struct, frozen=True):
    """The key that rows are matched by, as text."""

    text: str
    can_change: bool
    """Rows with the same key may differ."""


class Matching:
    """The rows of earlier runs and of the later run. Use it in a `with` block, which deletes the file."""

    def __init__(self) -> None:
        import apsw

        self._connection: apsw.Connection = apsw.Connection("")
        self._connection.execute(f"PRAGMA cache_size = -{CACHE_KB}; PRAGMA temp_store = FILE; BEGIN")
        self._connection.execute(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        import apsw

        self._connection.close()
        if isinstance(error, apsw.FullError | apsw.IOError | apsw.CantOpenError):
            raise StoreUnavailable(
                f"cannot write a temporary file: {error}",
                hint="free some space, or set SQLITE_TMPDIR to another folder",
            ) from error

    def add_before(self, items: Sequence[StoredItem], fields: tuple[str, ...], *, is_first: bool) -> None:
        """Add rows of an earlier run, newest run first; older runs only add rows with new keys."""
        records = _records(items, fields)
        if is_first:
            self._connection.executemany("INSERT INTO before VALUES (?, ?, ?, ?, ?, NULL)", records)
            return
        self._connection.executemany(
            "INSERT INTO before SELECT ?1, ?2, ?3, ?4, ?5, NULL WHERE ?3 NOT IN (SELECT key FROM known)",
            records,
        )

    def end_run(self) -> None:
        """Mark the keys added so far as known."""
        self._connection.execute("INSERT OR IGNORE INTO known SELECT key FROM before")

    def add_after(self, items: Sequence[StoredItem], fields: tuple[str, ...]) -> None:
        """Add rows of the later run."""
        records = _records(items, fields)
        self._connection.executemany("INSERT INTO after VALUES (?, ?, ?, ?, ?, NULL)", records)

    def match(self, fields: tuple[str, ...]) -> MatchKey:
        """Match rows: equal ones first, then those with the same key."""
        key = self._choose(fields)
        for side in ("before", "after"):
            self._connection.execute(f"CREATE INDEX {side}_key ON {side} (key, content, id)")
        self._pair("key, content")
        if key.can_change:
            self._pair("key")
        return key

    def _choose(self, fields: tuple[str, ...]) -> MatchKey:
        if fields:
            return MatchKey(", ".join(fields), can_change=True)
        if not self._has_duplicates("before") and not self._has_duplicates("after"):
            return MatchKey("page URL", can_change=True)
        for side in ("before", "after"):
            self._connection.execute(f"UPDATE {side} SET key = content")  # noqa: S608 - fixed names
        return MatchKey("content", can_change=False)

    def _has_duplicates(self, side: str) -> bool:
        sql = f"SELECT 1 FROM {side} GROUP BY key HAVING count(*) > 1 LIMIT 1"  # noqa: S608 - fixed names
        return self._connection.execute(sql).fetchone() is not None

    def _pair(self, by: str) -> None:
        """Match unmatched rows with equal values one to one, with a merge join.

        The mate of a later row becomes 0 if the rows are equal, else the id of the earlier row.
        """
        rest = f"WHERE mate IS NULL ORDER BY {by}, id"
        before = self._connection.execute(f"SELECT id, {by} FROM before {rest}")  # noqa: S608 - fixed names
        after = self._connection.execute(f"SELECT id, {by} FROM after {rest}")  # noqa: S608 - fixed names
        self._connection.executemany("INSERT INTO pair VALUES (?, ?)", _pairs(before, after))
        is_equal = by != "key"
        self._connection.execute(
            "UPDATE after SET mate = iif(?, 0, pair.before_id) FROM pair WHERE pair.after_id = after.id",
            (is_equal,),
        )
        self._connection.execute("UPDATE before SET mate = 0 WHERE id IN (SELECT before_id FROM pair)")
        self._connection.execute("DELETE FROM pair")

    def left_urls(self, after: str = "") -> list[str]:
        """Return up to 1000 distinct page URLs of unmatched earlier rows, after a URL."""
        self._connection.execute("CREATE INDEX IF NOT EXISTS before_left ON before (url) WHERE mate IS NULL")
        found = self._connection.execute(
            "SELECT DISTINCT url FROM before WHERE mate IS NULL AND url > ? ORDER BY url LIMIT 1000", (after,)
        )
        return [str(url) for (url,) in found]

    def exclude(self, url: str) -> None:
        """Exclude the rows of a page from the gone rows."""
        self._connection.execute("INSERT OR IGNORE INTO excluded VALUES (?)", (url,))

    def counts(self) -> tuple[int, int, int, int, int]:
        """Return the number of new, changed, gone, unchanged and excluded rows."""
        ((new, changed, unchanged),) = self._connection.execute(
            "SELECT total(mate IS NULL), total(mate > 0), total(mate = 0) FROM after"
        )
        ((gone, excluded),) = self._connection.execute(
            "SELECT total(url NOT IN excluded), total(url IN excluded) FROM before WHERE mate IS NULL"
        )
        return int(new), int(changed), int(gone), int(unchanged), int(excluded)

    def arrived(
        self, limit: int, kind: ChangeKind | None = None, after: int = 0
    ) -> Iterator[tuple[int, str, bytes, bytes | None]]:
        """Yield new and changed rows, or those of one kind, with their earlier content, in order of their ids
        after one.
        """
        yield from self._connection.execute(
            "SELECT a.id, a.url, a.data, b.data FROM after a LEFT JOIN before b ON b.id = a.mate"
            " WHERE a.mate IS NOT 0 AND (?1 IS NULL OR (a.mate IS NULL) = ?1) AND a.id > ?2"
            " ORDER BY a.id LIMIT ?3",
            (None if kind is None else kind == "new", after, limit),
        )

    def arrived_ids(self, first: int, last: int) -> set[int]:
        """Return the ids of new and changed rows in a range of ids."""
        sql = "SELECT id FROM after WHERE id BETWEEN ? AND ? AND mate IS NOT 0"
        return {item_id for (item_id,) in self._connection.execute(sql, (first, last))}

    def left(self, limit: int, after: int = 0) -> Iterator[tuple[int, str, bytes]]:
        """Yield gone rows, in order of their ids after one."""
        yield from self._connection.execute(
            "SELECT id, url, data FROM before WHERE mate IS NULL AND url NOT IN excluded AND id > ?"
            " ORDER BY id LIMIT ?",
            (after, limit),
        )


def _records(
    items: Sequence[StoredItem], fields: tuple[str, ...]
) -> Iterable[tuple[int, str, bytes, bytes, bytes]]:
    """Yield rows with their key and content hash. A null field equals a missing one."""
    for item in items:
        row: dict[str, Any] = {
            name: value for name, value in msgspec.json.decode(item.data).items() if value is not None
        }
        content = content_fingerprint(_encode(row))
        if not fields:
            key = content_fingerprint(item.url.encode())
        elif any(field in row for field in fields):
            key = content_fingerprint(_encode([row.get(field) for field in fields]))
        else:
            key = content
        yield item.id, item.url, key, content, item.data


def _pairs(before: Iterator[tuple[Any, ...]], after: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, int]]:
    """Yield the ids of rows with equal values; both sides are sorted by them."""
    old, new = next(before, None), next(after, None)
    while old is not None and new is not None:
        if old[1:] == new[1:]:
            yield new[0], old[0]
            old, new = next(before, None), next(after, None)
        elif old[1:] < new[1:]:
            old = next(before, None)
        else:
            new = next(after, None)
