"""Values keep their meaning and their type from the page to the file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import openpyxl  # type: ignore[import-untyped] # ships no types
import pytest
from pyarrow import parquet  # type: ignore[import-untyped] # ships no types
from tests.acceptance.workshop import Workshop, title_task, written_site

pytestmark = pytest.mark.acceptance

CARDS = "".join(
    f"<div class=card><b>{price}</b><i>{rating}</i><time>{date}</time>"
    f'<a class=child href="/d/{number}">x</a></div>'
    for number, (price, rating, date) in enumerate(
        [
            ("1.899 €", "4.125", "Posted on August 5, 2015"),
            ("12,50 €", "3.875", "5 August 2015"),
            ("R$ 1.025", "4.250", "2015-08-05"),
        ]
    )
)


def a_task(entry: str) -> dict[str, Any]:
    def carried(name: str) -> dict[str, str]:
        return {"type": "meta", "expr": name}

    def found(name: str) -> dict[str, str]:
        return {"type": "jmespath", "expr": name}

    return title_task(
        entry,
        selectors={
            "items": ".card",
            "fields": {
                "price": {"expr": "b", "steps": ["number"]},
                "rating": {"expr": "i", "steps": ["number"]},
                "day": {"expr": "time", "steps": ["date"]},
            },
        },
        emit=False,
        cleaning_log=True,
        follow=[{"selector": "a.child", "to": "detail", "carry": ["price", "rating", "day"]}],
        pages={
            "detail": {
                "selectors": {
                    "fields": {
                        "number": found("number"),
                        "weight": found("weight"),
                        "is_new": found("is_new"),
                        "price": carried("price"),
                        "day": carried("day"),
                    }
                }
            }
        },
    )


def test_json_numbers_and_carried_values_keep_their_types_in_every_file(workshop: Workshop) -> None:
    details = {
        f"/d/{number}": [
            {"data": {"number": number, "weight": [1, 2.5, None][number], "is_new": number == 1}}
        ]
        for number in range(3)
    }
    with written_site(workshop.folder, routes={"/": [{"body": CARDS}], **details}) as site:
        workshop.write(a_task(site.url()))
        crawled = workshop.crawl("-o", "rows.parquet", "-o", "rows.sqlite", "-o", "rows.xlsx").expect(0)
        noted = workshop.run("results", "cleaning", "--field", "rating").out
    day = datetime(2015, 8, 5, tzinfo=UTC)
    expected = [
        (0, 1.0, False, 1899.0, day),
        (1, 2.5, True, 12.5, day),
        (2, None, False, 1025.0, day),
    ]
    table = parquet.read_table(workshop.folder / "rows.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "number": "int64",
        "weight": "double",
        "is_new": "bool",
        "price": "double",
        "day": "timestamp[us, tz=UTC]",
    }
    assert sorted(tuple(row.values()) for row in table.to_pylist()) == expected
    with closing(sqlite3.connect(workshop.folder / "rows.sqlite")) as database:
        types = [row[2] for row in database.execute("PRAGMA table_info(items)")]
        rows = sorted(database.execute("SELECT * FROM items"))
    assert types == ["INTEGER", "REAL", "INTEGER", "REAL", "TEXT"]
    assert rows == [(*row[:4], "2015-08-05") for row in expected]
    with closing(openpyxl.load_workbook(workshop.folder / "rows.xlsx")) as book:
        _, *cells = book.active.iter_rows(values_only=True)
    assert sorted(cells) == [(*row[:4], day.replace(tzinfo=None)) for row in expected]
    assert "note: fields.rating.steps[0] number: 3 of 3 values can be read in two ways" in crawled.err
    assert "fields.price" not in crawled.err
    assert "4.125" in noted
    assert "unsure" in noted
