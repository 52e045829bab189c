"""Questions about runs and requests are answered by keys: no table that grows is scanned or sorted."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE, connect
from smartspider.backends.sqlite.schema import prepare
from smartspider.store import statements

PACKAGE = "smartspider.store.diagnostics"
SQL = vars(statements.load("diagnostics.sql", PACKAGE)) | vars(statements.load("problems.sql", PACKAGE))

SMALL = {"worker"}
"""Tables that have a row for each process."""
NAMED = ("SCAN few", "SCAN scanned", "SCAN found", "SCAN (subquery")
"""Subqueries that a LIMIT or the number of causes has bounded."""
BOUNDED = {"leases", "shares", "leased_hosts", "prints_of_url", "holders", "later_hosts", "failing"}
BOUNDED |= {"by_host", "empty_pages", "rejects"}
"""Statements that group or sort what a LIMIT inside them has bounded."""


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    prepare(tmp_path)
    return connect(tmp_path / FILE)


@pytest.mark.parametrize("name", sorted(SQL))
def test_nothing_that_grows_is_scanned(connection: apsw.Connection, name: str) -> None:
    sql = SQL[name]
    count = max((int(digit) for digit in "123456789" if f"?{digit}" in sql), default=sql.count("?"))
    plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * count).fetchall()
    for step in (str(line[-1]) for line in plan):
        if step.startswith("SCAN") and name in BOUNDED:
            assert step.startswith(NAMED), step
        elif step.startswith("SCAN"):
            assert step.split()[1] in SMALL or step.startswith(NAMED) or step == "SCAN CONSTANT ROW", step
        if "TEMP B-TREE" in step:
            assert name in BOUNDED, step


@pytest.mark.parametrize("name", ["by_host", "causes", "empty_pages"])
def test_problems_are_counted_in_an_index(connection: apsw.Connection, name: str) -> None:
    """The requests themselves are read only where the list of a page matters."""
    sql = SQL[name]
    count = max(int(digit) for digit in "1234" if f"?{digit}" in sql)
    plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * count).fetchall()
    used = [str(line[-1]) for line in plan if "url_cause" in str(line[-1])]
    assert used
    assert name == "empty_pages" or all("COVERING INDEX" in step for step in used)
