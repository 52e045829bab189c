"""Translation of SQLite's statements to PostgreSQL.

Most need only other placeholders. For the others there is a block with the same file and name in `sql/`:
`name` replaces the statement, `name__write` the same one in a write transaction (where it locks what it
reads), `name__many` executes it for many values at once, with one array for each column. Text appended to
a statement, such as conditions, is appended to its replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import count

import msgspec

from smartspider.store import statements

_MARK = re.compile(r"'(?:[^']|'')*'|--[^\n]*|[?](\d+)?")
_SHARED = "smartspider.store"


class PostgresStatement(msgspec.Struct, frozen=True):
    """A statement in PostgreSQL's dialect."""

    one: str
    write: str
    many: str | None
    is_numbered: bool
    """Its values have names: p1, p2, ..."""
    server: str
    """With the server's own placeholders: $1, $2, ..."""


@lru_cache(maxsize=2048)
def translate(sql: str) -> PostgresStatement:
    """Translate a statement."""
    own = overrides().get(sql) or extended(sql)
    one = own.get("", sql)
    many = own.get("many")
    return PostgresStatement(
        with_placeholders(one),
        with_placeholders(own.get("write", one)),
        None if many is None else with_placeholders(many, "b"),
        is_numbered="?1" in one,
        server=with_numbered_placeholders(one),
    )


def extended(sql: str) -> dict[str, str]:
    """Return the replacements for a statement that begins with a known one and has more conditions."""
    for theirs, own in overrides().items():
        if sql.startswith((f"{theirs} ", f"{theirs}\n")):
            return {purpose: body + sql[len(theirs) :] for purpose, body in own.items() if purpose != "many"}
    return {}


def with_placeholders(sql: str, form: str = "s") -> str:
    """Return the statement with the driver's placeholders. With form `b` values are sent in binary, which for
    arrays is by far the fastest.
    """

    def mark(found: re.Match[str]) -> str:
        text = found.group(0)
        if not text.startswith("?"):
            return "" if text.startswith("--") else text
        return f"\0(p{found.group(1)}){form}" if found.group(1) else f"\0{form}"

    return _MARK.sub(mark, sql).replace("%", "%%").replace("\0", "%")


def with_numbered_placeholders(sql: str) -> str:
    """Return the statement with the server's placeholders."""
    places = count(1)

    def mark(found: re.Match[str]) -> str:
        text = found.group(0)
        if not text.startswith("?"):
            return "" if text.startswith("--") else text
        return f"${found.group(1) or next(places)}"

    return _MARK.sub(mark, sql)


@lru_cache(maxsize=1)
def overrides() -> dict[str, dict[str, str]]:
    """Return the replacements of statements by purpose."""
    found: dict[str, dict[str, str]] = {}
    shared = {file.name: file for file in _files(resources.files(_SHARED))}
    for file in (resources.files(__package__) / "sql").iterdir():
        ours = statements.blocks(file.read_text(encoding="utf-8"))
        origin = shared.get(file.name)
        theirs = ours if origin is None else statements.blocks(origin.read_text(encoding="utf-8"))
        for name, body in ours.items():
            base, _, purpose = name.partition("__")
            if origin is not None or purpose:
                found.setdefault(theirs[base], {})[purpose] = body
    return found


def _files(folder: Traversable) -> Iterator[Traversable]:
    """Yield the SQL files of a package and of the packages in it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry)
        elif entry.name.endswith(".sql"):
            yield entry
