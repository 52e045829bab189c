"""Which rows of two sides belong together, worked out in a temporary file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.requests.fingerprint import content_fingerprint
from smartspider.store.results.rows import StoredItem

if TYPE_CHECKING:
    import apsw

CACHE_KB = 16_000
"""How much of the file is held in memory."""

_SCHEMA = """
    CREATE TABLE before (id INTEGER PRIMARY KEY, url TEXT, key BLOB, content BLOB, data BLOB, mate INTEGER);
    CREATE TABLE after (id INTEGER PRIMARY KEY, url TEXT, key BLOB, content BLOB, data BLOB, mate INTEGER);
    CREATE TABLE known (key BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE pair (after_id INTEGER, before_id INTEGER);
    CREATE TABLE aside (url TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_encode = msgspec.json.Encoder(order="sorted").encode


class MatchKey(msgspec.Struct, frozen=True):
    """What rows are recognised by, in words."""

    told: str
    can_change: bool
    """Rows with the same key may differ."""


class Matching:
    """Rows from before and after. Used in a `with` block; the file goes with it."""

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
                f"there is no room for a temporary file: {error}",
                hint="free some space, or name another folder by SQLITE_TMPDIR",
            ) from error

    def add_before(self, items: Sequence[StoredItem], fields: tuple[str, ...], *, is_first: bool) -> None:
        """Rows of an earlier run, the newest run first; later ones only add what is not there yet."""
        records = _records(items, fields)
        if is_first:
            self._connection.executemany("INSERT INTO before VALUES (?, ?, ?, ?, ?, NULL)", records)
            return
        self._connection.executemany(
            "INSERT INTO before SELECT ?1, ?2, ?3, ?4, ?5, NULL WHERE ?3 NOT IN (SELECT key FROM known)",
            records,
        )

    def end_run(self) -> None:
        """From now on the keys so far are known."""
        self._connection.execute("INSERT OR IGNORE INTO known SELECT key FROM before")

    def add_after(self, items: Sequence[StoredItem], fields: tuple[str, ...]) -> None:
        """Rows of the later run."""
        records = _records(items, fields)
        self._connection.executemany("INSERT INTO after VALUES (?, ?, ?, ?, ?, NULL)", records)

    def match(self, fields: tuple[str, ...]) -> MatchKey:
        """Find the rows that belong together: first those that are equal, then those with one key."""
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
        if not self._has_doubles("before") and not self._has_doubles("after"):
            return MatchKey("page URL", can_change=True)
        for side in ("before", "after"):
            self._connection.execute(f"UPDATE {side} SET key = content")  # noqa: S608 - fixed names
        return MatchKey("content", can_change=False)

    def _has_doubles(self, side: str) -> bool:
        sql = f"SELECT 1 FROM {side} GROUP BY key HAVING count(*) > 1 LIMIT 1"  # noqa: S608 - fixed names
        return self._connection.execute(sql).fetchone() is not None

    def _pair(self, by: str) -> None:
        """Join rows that have the same values, one to one, by walking along both sides at once.

        A row of the later side that found its equal gets the mate 0, one that changed the id it had.
        """
        rest = f"WHERE mate IS NULL ORDER BY {by}, id"
        before = self._connection.execute(f"SELECT id, {by} FROM before {rest}")  # noqa: S608 - fixed names
        after = self._connection.execute(f"SELECT id, {by} FROM after {rest}")  # noqa: S608 - fixed names
        self._connection.executemany("INSERT INTO pair VALUES (?, ?)", _meetings(before, after))
        is_equal = by != "key"
        self._connection.execute(
            "UPDATE after SET mate = iif(?, 0, pair.before_id) FROM pair WHERE pair.after_id = after.id",
            (is_equal,),
        )
        self._connection.execute("UPDATE before SET mate = 0 WHERE id IN (SELECT before_id FROM pair)")
        self._connection.execute("DELETE FROM pair")

    def left_urls(self, after: str = "") -> list[str]:
        """Pages of rows that nothing matched, each once: some of them, those after a URL."""
        self._connection.execute("CREATE INDEX IF NOT EXISTS before_left ON before (url) WHERE mate IS NULL")
        found = self._connection.execute(
            "SELECT DISTINCT url FROM before WHERE mate IS NULL AND url > ? ORDER BY url LIMIT 1000", (after,)
        )
        return [str(url) for (url,) in found]

    def set_aside(self, url: str) -> None:
        """Nothing can be said about the rows of a page."""
        self._connection.execute("INSERT OR IGNORE INTO aside VALUES (?)", (url,))

    def counts(self) -> tuple[int, int, int, int, int]:
        """Rows that are new, changed, gone, unchanged, and set aside."""
        ((new, changed, unchanged),) = self._connection.execute(
            "SELECT total(mate IS NULL), total(mate > 0), total(mate = 0) FROM after"
        )
        ((gone, aside),) = self._connection.execute(
            "SELECT total(url NOT IN aside), total(url IN aside) FROM before WHERE mate IS NULL"
        )
        return int(new), int(changed), int(gone), int(unchanged), int(aside)

    def arrived(self, limit: int) -> Iterator[tuple[int, str, bytes, bytes | None]]:
        """New and changed rows with what they were, in their order."""
        yield from self._connection.execute(
            "SELECT a.id, a.url, a.data, b.data FROM after a LEFT JOIN before b ON b.id = a.mate"
            " WHERE a.mate IS NOT 0 ORDER BY a.id LIMIT ?",
            (limit,),
        )

    def arrived_ids(self, first: int, last: int) -> set[int]:
        """Ids of new and changed rows, among those from one id to another."""
        sql = "SELECT id FROM after WHERE id BETWEEN ? AND ? AND mate IS NOT 0"
        return {item_id for (item_id,) in self._connection.execute(sql, (first, last))}

    def left(self, limit: int) -> Iterator[tuple[str, bytes]]:
        """Rows that are gone, in their order."""
        yield from self._connection.execute(
            "SELECT url, data FROM before WHERE mate IS NULL AND url NOT IN aside ORDER BY id LIMIT ?",
            (limit,),
        )


def _records(
    items: Sequence[StoredItem], fields: tuple[str, ...]
) -> Iterable[tuple[int, str, bytes, bytes, bytes]]:
    """Rows with what they are recognised by. A field that is null is as one that is not there."""
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


def _meetings(
    before: Iterator[tuple[Any, ...]], after: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[int, int]]:
    """Ids of rows with the same values on both sides, which are walked in the order of these."""
    old, new = next(before, None), next(after, None)
    while old is not None and new is not None:
        if old[1:] == new[1:]:
            yield new[0], old[0]
            old, new = next(before, None), next(after, None)
        elif old[1:] < new[1:]:
            old = next(before, None)
        else:
            new = next(after, None)
