"""How PostgreSQL carries out a statement."""

from __future__ import annotations

import re

import psycopg

from smartspider.store.database import Row


def plan(connection: psycopg.Connection[Row], text: str) -> str:
    """Return the plan of a statement, as the driver gets it, whatever its values are."""
    places = iter(range(1, 99))
    marked = re.sub(r"%\(p(\d+)\)[sb]", r"$\1", text)
    marked = re.sub(r"%[sb]", lambda _: f"${next(places)}", marked).replace("%%", "%")
    count = max([0, *(int(number) for number in re.findall(r"\$(\d+)", marked))])
    values = f"({', '.join(['NULL'] * count)})" if count else ""
    connection.execute(f"PREPARE asked AS {marked}".encode())
    found = connection.execute(f"EXPLAIN EXECUTE asked{values}".encode()).fetchall()
    connection.execute("DEALLOCATE asked")
    return "\n".join(line for (line,) in found)
