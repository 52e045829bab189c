"""A tuning obeys the bounds of the task file, and validation knows every setting of a tuning."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.runs.tuning import LimitTuning, Tuning, merged, settings_of
from smartspider.services.runs.tuning import parse_tuning
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.sections import Limits
from smartspider.taskfile.model.tuning import Knobs
from smartspider.views.runs import KnobsView

TASK = {"name": "shop", "entry_urls": ["http://shop.test/"]}


def test_every_setting_is_validated_and_shown() -> None:
    assert set(Knobs.model_fields) == set(Tuning.__annotations__)
    assert set(Limits.model_fields) == set(LimitTuning.__annotations__)
    shown = {*Tuning.__annotations__, *LimitTuning.__annotations__} - {"limits"}
    assert set(KnobsView.__struct_fields__) == shown


@pytest.mark.parametrize(
    ("tuning", "task"),
    [
        ({"concurrency": 10_001}, {"concurrency": 10_001}),
        ({"priority": -1}, {"priority": -1}),
        ({"delay_s": 86_401}, {"politeness": {"delay_s": 86_401}}),
        ({"rate_per_s": 0}, {"politeness": {"rate_per_s": 0}}),
        ({"per_host": 0}, {"politeness": {"per_host": 0}}),
        ({"limits": {"max_pages": 0}}, {"limits": {"max_pages": 0}}),
        ({"concurrency": "8"}, {"concurrency": "8"}),
    ],
)
def test_a_tuning_is_refused_for_the_reason_a_task_is(tuning: Tuning, task: dict[str, Any]) -> None:
    with pytest.raises(TaskInvalid) as tuned:
        parse_tuning(tuning)
    with pytest.raises(TaskInvalid) as written:
        parse_task({**TASK, **task})
    assert [one.message for one in tuned.value.problems] == [one.message for one in written.value.problems]


def test_only_settings_that_were_sent_are_changed() -> None:
    assert parse_tuning({"rate_per_s": None, "limits": {"max_pages": None}}) == {
        "rate_per_s": None,
        "limits": {"max_pages": None},
    }
    assert settings_of(parse_tuning({"limits": {}})) == {}


def test_a_newer_tuning_wins_setting_by_setting() -> None:
    older: Tuning = {"delay_s": 2.0, "limits": {"max_pages": 5, "max_items": 7}}
    newer: Tuning = {"concurrency": 3, "limits": {"max_pages": None}}
    assert settings_of(merged(older, newer)) == {
        "concurrency": 3,
        "delay_s": 2.0,
        "max_pages": None,
        "max_items": 7,
    }
