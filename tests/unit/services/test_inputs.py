"""Ids, cursors and moments as they come from people and programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.services.inputs import parse_cursor, parse_id, parse_time, parse_time_cursor, to_page
from smartspider.services.schedules import schedules
from smartspider.wiring.opening import open_folder

NO_NUMBERS = ["", "x", "-1", "1.5", "٣", " 1", "1" * 19]


def test_an_id_is_a_number_inside() -> None:
    assert parse_id("17", "run") == 17


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_belongs_to_nothing(text: str) -> None:
    with pytest.raises(NotFound, match="there is no run"):
        parse_id(text, "run")


def test_a_cursor_is_where_to_go_on() -> None:
    assert (parse_cursor(None), parse_cursor("7"), parse_time_cursor(None), parse_time_cursor("7.25")) == (
        None,
        7,
        None,
        7.25,
    )


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_a_cursor_of_another_list_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid, match="is not a cursor of this list"):
        parse_cursor(text)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-inf"])
def test_a_cursor_that_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid, match="is not a cursor of this list"):
        parse_time_cursor(text)


async def test_a_wrong_cursor_is_refused_alike_in_a_data_folder(tmp_path: Path) -> None:
    with (
        open_folder(tmp_path / "data") as folder,
        pytest.raises(RequestInvalid, match="is not a cursor of this list"),
    ):
        await schedules.list_firings(folder, 1, cursor="x", limit=10)


def test_a_page_names_the_next_one_only_when_there_is_more() -> None:
    whole = to_page([1, 2], 2, lambda one: one, str)
    part = to_page([1, 2, 3], 2, lambda one: one, str)
    assert (whole.items, whole.next) == (["1", "2"], None)
    assert (part.items, part.next) == (["1", "2"], "2")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", 1769860800.0),
        ("2026-01-31T12:00:00", 1769860800.0),
        ("2026-01-31T13:00:00+01:00", 1769860800.0),
        ("2026-01-31T13:00:00 01:00", 1769860800.0),  # a plus sign in a query
        ("2026-01-31", 1769817600.0),
        ("20260131", 1769817600.0),
        ("1769860800", 1769860800.0),
        ("1769860800.5", 1769860800.5),
        (" 1000 ", 1000.0),
    ],
)
def test_a_moment_is_read_as_people_write_it(text: str, moment: float) -> None:
    assert parse_time("since", text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "nan", "inf", "1e300", "2026-13-01", "x 01:00"])
def test_what_is_no_moment_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(RequestInvalid, match=r"since: .* is not a time") as caught:
        parse_time("since", text)
    assert [problem.path for problem in caught.value.problems] == ["since"]


def test_no_moment_is_none() -> None:
    assert parse_time("since", None) is None
