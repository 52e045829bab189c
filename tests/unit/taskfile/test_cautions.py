"""Warnings about lossy settings."""

from __future__ import annotations

from typing import Any

from smartspider.dedup.bloom import PROMISED_ERRORS
from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.load import parse_task


def test_a_lossy_filter_is_said_with_its_rate(small: dict[str, Any]) -> None:
    (caution,) = find_cautions(parse_task({**small, "dedup": {"urls": "bloom"}}))
    assert caution.path == "dedup.urls"
    assert "pages are missed" in caution.message
    assert (
        f"one in {round(1 / PROMISED_ERRORS):,} ({PROMISED_ERRORS:.2%})".replace("%)", " %)")
        in caution.message
    )


def test_an_ordinary_task_needs_none(small: dict[str, Any]) -> None:
    assert find_cautions(parse_task(small)) == []
    assert find_cautions(parse_task({**small, "dedup": {"urls": "exact"}})) == []
