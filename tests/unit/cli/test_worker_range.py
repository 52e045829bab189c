"""Numbers of processes as they are written."""

from __future__ import annotations

import click
import pytest

from smartspider.cli.server.startup import WorkerRangeType
from smartspider.core.workers.worker import WorkerRange


@pytest.mark.parametrize(
    ("text", "span", "is_range"),
    [
        ("4", WorkerRange(4, 4), False),
        ("1-8", WorkerRange(1, 8), True),
        ("0-3", WorkerRange(0, 3), True),
        (" 2-2 ", WorkerRange(2, 2), False),
    ],
)
def test_a_number_or_two_are_read(text: str, span: WorkerRange, *, is_range: bool) -> None:
    found = WorkerRangeType(1, 256).convert(text, None, None)
    assert (found, found.is_range) == (span, is_range)


@pytest.mark.parametrize("text", ["", "0", "257", "3-1", "1-", "-3", "1-999", "a-b", "1-2-3", "0-0", "²"])
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        WorkerRangeType(1, 256).convert(text, None, None)


def test_a_server_may_do_without_workers() -> None:
    assert WorkerRangeType(0, 256).convert("0", None, None) == WorkerRange(0, 0)
