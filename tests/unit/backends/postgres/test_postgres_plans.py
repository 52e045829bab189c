"""No statement of the control plane looks at all of a table that grows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import psycopg
import pytest
from tests.unit.backends.postgres.plans import plan

from smartspider.backends.postgres import dialect
from smartspider.store import audit, statements
from smartspider.store.audit import AuditFilter
from smartspider.store.database import Row
from smartspider.store.logs import store
from smartspider.store.logs.terms import LogFilter, filter_terms, match_expression
from smartspider_testing.servers import PristineDatabase

FILES = (
    *("idempotency", "audit", "events", "nodes/leadership", "logs/logs", "metrics", "notifications"),
    *("schedules", "tasks", "vault", "access/sessions", "access/tokens", "access/users"),
)
SMALL = {
    "audit_head",
    "leader",
    "lease",
    "load",
    "log_size",
    "meta",
    "metric",
    "notification_target",
    "scaling",
    "vault",
    "worker",
}
"""They hold a row, or one for each of what is bounded."""
LINES = 30_000


@pytest.fixture(scope="module")
def connection(store_database: PristineDatabase) -> Iterator[psycopg.Connection[Row]]:
    """Where indexes are used if they can be at all, for plans that hold whatever the values are."""
    options = "-c search_path=smartspider -c enable_seqscan=off -c plan_cache_mode=force_generic_plan"
    url = store_database.reset()
    with psycopg.connect(url, options=options, autocommit=True) as connection:
        yield connection


def texts(file: str) -> dict[str, str]:
    """All statements of a file as they are said here."""
    shared = statements.blocks(statements.text(f"{file}.sql", statements.__package__))
    found: dict[str, str] = {}
    for name, sql in shared.items():
        words = dialect.translate(sql)
        told = {words.one: "", words.write: " in a write", words.many: " at once"} | {words.one: ""}
        found |= {
            f"{name}{when}": text for text, when in told.items() if text is not None and ";" not in text
        }
    return found


STATEMENTS = {f"{file} {name}": text for file in FILES for name, text in texts(file).items()}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_grows_is_read_by_a_key(connection: psycopg.Connection[Row], name: str) -> None:
    found = plan(connection, STATEMENTS[name])
    assert set(re.findall(r"Seq Scan on (\w+)", found)) <= SMALL, found


@pytest.mark.parametrize(
    "only",
    [AuditFilter(), AuditFilter(actor="a"), AuditFilter(subject="a", action="b"), AuditFilter(since=1.0)],
)
def test_the_audit_is_listed_by_a_key(connection: psycopg.Connection[Row], only: AuditFilter) -> None:
    found = plan(connection, dialect.translate(audit.listing_sql(only)).one)
    assert "Seq Scan" not in found


def test_words_of_one_statement_are_not_taken_for_another() -> None:
    """What begins like a statement with words of its own gets these words."""
    shared = Path(str(resources.files(statements.__package__)))
    known = [
        block
        for file in shared.rglob("*.sql")
        for block in statements.blocks(file.read_text(encoding="utf-8")).values()
    ]
    own = dialect.overrides()
    begun = [sql for sql in known if sql not in own and dialect.extended(sql)]
    assert begun == []


@pytest.fixture(scope="module")
def crowded(store_database: PristineDatabase) -> Iterator[psycopg.Connection[Row]]:
    """A log with many lines: of two runs, one of them rarely heard of, and few errors."""
    options = "-c search_path=smartspider"
    with psycopg.connect(store_database.reset(), options=options, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO log (at, level, event, worker, text, fields, words)"
            " SELECT n, 20, 'a.b', 'w', 'x', '{}',"
            " string_to_array(%s || CASE WHEN n %% 1000 = 0 THEN %s ELSE %s END || n, ' ')"
            f" FROM generate_series(1, {LINES}) AS n",
            (
                f"{match_expression(filter_terms(LogFilter(level=20)))} fetched ",
                f"{match_expression(filter_terms(LogFilter(run_id=2)))} ",
                f"{match_expression(filter_terms(LogFilter(run_id=1)))} ",
            ),
        )
        connection.execute("ANALYZE log")
        yield connection


@pytest.mark.parametrize("order", ["DESC LIMIT 101", "ASC LIMIT 100"])
@pytest.mark.parametrize(
    "only",
    [
        LogFilter(),
        LogFilter(level=20),
        LogFilter(run_id=1),
        LogFilter(run_id=2),
        LogFilter(run_id=2, level=20),
        LogFilter(text="fetched"),
        LogFilter(text="29999"),
        LogFilter(text="nothing like it", run_id=1),
    ],
    ids=str,
)
def test_few_lines_are_looked_at(crowded: psycopg.Connection[Row], only: LogFilter, order: str) -> None:
    """By their marks where these are rare, in their order where they are not."""
    sql, values = store.search_sql(only, order)
    marks = filter_terms(only)
    given = (0, LINES + 1, match_expression(marks), *values) if marks else (0, LINES + 1, *values)
    words = dialect.translate(sql).one
    # Of the mark alone: the other columns of these lines are empty.
    words = re.sub(r" AND log\.(run_id|level) (=|>=) %s", "", words)
    given = given[: words.count("%s")]
    found = crowded.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {words}".encode(), given).fetchall()[0][0][0]
    assert _looked_at(found["Plan"]) < 500, found


def _looked_at(node: dict[str, object]) -> float:
    """Rows that the nodes of a plan came upon."""
    inner = node.get("Plans", [])
    assert isinstance(inner, list)
    own = float(str(node["Actual Rows"])) + float(str(node.get("Rows Removed by Filter", 0)))
    return max([own, *(_looked_at(each) for each in inner)])
