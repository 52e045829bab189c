"""The first rows of a run that are as wanted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest

from smartspider.core.errors import RequestInvalid
from smartspider.core.items.filters import Condition
from smartspider.services.results.filters import find_rows, parse_fields, parse_sort, parse_where
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.store import RunStore

ROWS: list[dict[str, Any]] = [
    {"n": number, "even": number % 2 == 0, "tags": [number], "none": None, "name": f"row {number}"}
    for number in range(10)
]


class Items:
    """The part of a store that is read: batches of three."""

    def __init__(self) -> None:
        self.batches = 0

    async def items(self, run_id: int) -> AsyncIterator[Sequence[StoredItem]]:
        for start in range(0, len(ROWS), 3):
            self.batches += 1
            yield [
                StoredItem(row["n"], run_id, "", json.dumps(row).encode(), 0.0, 1)
                for row in ROWS[start : start + 3]
            ]


async def test_no_more_rows_are_read_than_wanted() -> None:
    items = Items()
    rows = await find_rows(cast("RunStore", items), 1, 4)
    assert rows == ROWS[:4]
    assert items.batches == 2


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"name": "row 3"}, [3]),
        ({"n": "3"}, [3]),
        ({"even": "true"}, [0, 2, 4, 6, 8]),
        ({"even": "true", "n": "4"}, [4]),
        ({"tags": "[7]"}, [7]),
        ({"none": "", "n": "1"}, [1]),
        ({"n": "11"}, []),
        ({"n": "3.0"}, [3]),
    ],
)
async def test_rows_are_chosen_by_what_a_field_is_as_text(wanted: dict[str, str], numbers: list[int]) -> None:
    rows = await find_rows(
        cast("RunStore", Items()), 1, 20, [Condition(name, "eq", text) for name, text in wanted.items()]
    )
    assert [row["n"] for row in rows] == numbers


def test_a_condition_may_have_more_signs_in_its_value() -> None:
    assert parse_where(["a=b=c", " b =", "c= x"], ["a", "b", "c"]) == (
        Condition("a", "eq", "b=c"),
        Condition("b", "eq", ""),
        Condition("c", "eq", " x"),
    )


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a!=1", Condition("a", "ne", "1")),
        ("a<1", Condition("a", "lt", "1")),
        ("a <= 1", Condition("a", "le", " 1")),
        ("a>1", Condition("a", "gt", "1")),
        ("a>=-1", Condition("a", "ge", "-1")),
        ("a~b=c", Condition("a", "contains", "b=c")),
        ("a=b~c", Condition("a", "eq", "b~c")),
        ("a?", Condition("a", "exists")),
        ("a=why?", Condition("a", "eq", "why?")),
        ("a.b[0].c=x", Condition("a.b[0].c", "eq", "x")),
        ('a."b=c"=d', Condition('a."b=c"', "eq", "d")),
        ("x.y=1", Condition('"x.y"', "eq", "1")),
        ("oh!=1", Condition("oh", "ne", "1")),
        ("a=one\ntwo", Condition("a", "eq", "one\ntwo")),
    ],
)
def test_conditions_are_written_with_signs(text: str, condition: Condition) -> None:
    assert parse_where([text], ["a", "x.y", "oh"]) == (condition,)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("a", ("a", False)),
        ("-a", ("a", True)),
        ("a.b[1]", ("a.b[1]", False)),
        ("created_at", (None, False)),
        ("-created_at", (None, True)),
        ("-b", ('"-b"', False)),
    ],
)
def test_rows_are_sorted_by_a_field_or_by_their_age(text: str, sort: tuple[str | None, bool]) -> None:
    assert parse_sort(text, ["a", "-b"]) == sort


def test_a_field_of_the_name_of_the_age_is_a_field() -> None:
    assert parse_sort("-created_at", ["created_at"]) == ("created_at", True)


def test_too_many_conditions_are_refused() -> None:
    with pytest.raises(RequestInvalid, match="11 conditions are too many"):
        parse_where(["a=1"] * 11, ["a"])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "name",
            "'name' is not a condition",
            "write field=value; also supported: != < <= > >=, field~part and field?",
        ),
        ("nam=x", "the rows have no field 'nam'", "'name'; they have name, price"),
        ("=x", "the rows have no field ''", "they have name, price"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        parse_where([text], ["name", "price"])
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_fields_are_named_in_the_order_they_are_wanted() -> None:
    assert parse_fields("b, a,", ["a", "b"]) == ["b", "a"]
    with pytest.raises(RequestInvalid, match="no field 'c'"):
        parse_fields("a,c", ["a", "b"])
