"""No statement about runs, requests, items or hosts looks at all of a table that grows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

import psycopg
import pytest
from tests.unit.backends.postgres.plans import plan

from smartspider.backends.postgres import connection as own
from smartspider.backends.postgres import dialect
from smartspider.store import statements
from smartspider.store.database import Row
from smartspider.store.runs import lifecycle
from smartspider_testing.servers import PristineDatabase

SHARED = (
    *(
        "diagnostics/diagnostics",
        "diagnostics/problems",
        "hosts/gates",
        "nodes/workers",
        "results/results",
        "runs/runs",
    ),
    *("settle/recrawl", "settle/settle"),
)
SMALL = {"installation", "leader", "lease", "load", "run", "worker", "visit", "lane"}
"""They hold a row for each of what is bounded, or are looked at for one run."""
ONLY_IN_A_FILE = re.compile(
    r"\blater\b|\bwake_at\b|\bqueue\b|\blane\.queued\b|l\.queued|sent_until = max|turn = max"
)
ROWS = 12_000


@pytest.fixture(scope="module")
def connection(store_database: PristineDatabase) -> Iterator[psycopg.Connection[Row]]:
    """A store with some thousand requests of two runs, as our own connections see it."""
    options = f"{own.OPTIONS} -c plan_cache_mode=force_generic_plan"
    with psycopg.connect(store_database.reset(), options=options, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO url"
            " (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, found_at, state)"
            " SELECT (1 + n % 2) * (1::bigint << 40) + n, 1 + n % 2, decode(md5(n::text), 'hex'), n % 50,"
            " 'http://h/' || n, 'default', n % 3, 1, (n < 3)::int, n,"
            " CASE WHEN n % 10 = 0 THEN 'open' WHEN n % 500 = 1 THEN 'dead' ELSE 'done' END"
            f" FROM generate_series(1, {ROWS}) AS n"
        )
        connection.execute(
            "INSERT INTO item (id, url_id, data) SELECT id, id, '{}' FROM url;"
            "INSERT INTO send SELECT n % 50, n, n, 1 + n % 2, 1 FROM generate_series(1, 12000) AS n;"
            "INSERT INTO host (id, name, domain)"
            " SELECT n, 'h' || n, 'd' || n FROM generate_series(1, 12000) AS n"
        )
        connection.execute("ANALYZE")
        yield connection
    store_database.reset()


def texts() -> dict[str, str]:
    """All statements, as they are said here."""
    found: dict[str, str] = {}
    for file in SHARED:
        for name, sql in statements.blocks(statements.text(f"{file}.sql", statements.__package__)).items():
            words = dialect.translate(sql)
            for when, text in (("", words.one), (" in a write", words.write), (" at once", words.many)):
                if text is not None and not ONLY_IN_A_FILE.search(text) and text not in found.values():
                    found[f"{file} {name}{when}"] = text
    own_words = (resources.files("smartspider.backends.postgres") / "sql" / "frontier.sql").read_text()
    for name, sql in statements.blocks(own_words).items():
        found[f"frontier {name}"] = dialect.with_placeholders(sql)
    return found


STATEMENTS = texts()


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_table_that_grows_is_scanned(connection: psycopg.Connection[Row], name: str) -> None:
    """A key is found for everything."""
    told = plan(connection, STATEMENTS[name])
    scanned = set(re.findall(r"Seq Scan on (\w+)", told))
    assert scanned <= SMALL, told


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("runs/runs has_open", "url_open"),
        ("runs/runs pages_open", "url_open"),
        ("runs/runs pages_closed", "url_closed"),
        ("runs/runs pages_with_cause", "url_cause"),
        ("runs/runs failed", "url_closed"),
        ("runs/runs failed_with_cause", "url_cause"),
        ("diagnostics/problems causes", "url_cause"),
        ("runs/runs entry_reason", "url_entry"),
        ("frontier places_after", "url_open"),
        ("frontier heads", "url_lane"),
        ("frontier heads", "url_due_lane"),
        ("frontier requests", "url_pkey"),
        ("frontier places", "url_pkey"),
        ("settle/settle known at once", "url_identity"),
        ("settle/settle row_state at once", "url_pkey"),
        ("settle/settle urls_of_host", "url_host"),
        ("diagnostics/diagnostics next_due", "url_due"),
    ],
)
def test_what_is_asked_often_has_its_index(
    connection: psycopg.Connection[Row], name: str, index: str
) -> None:
    """And is not sorted or filtered from more than is wanted."""
    told = plan(connection, STATEMENTS[name])
    assert re.search(rf"\b{index}\b", told), told
    sorts = len(re.findall(r"Sort +\(", told))
    assert sorts <= (name in ("frontier heads", "frontier places", "frontier places_after")), told


def test_whether_a_run_is_complete_is_one_look_at_an_index(connection: psycopg.Connection[Row]) -> None:
    """Rule 4: a few pages are read, however many requests there are."""
    asked = dialect.translate(lifecycle.SQL.has_open).one.replace("%(p1)s", "3")
    found = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {asked}".encode()).fetchone()
    assert found is not None
    top = found[0][0]["Plan"]
    assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] <= 8
