"""Events, errors and fail points: the names others hold on to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

import smartspider
from smartspider.core import errors, events, failpoints

SOURCE = Path(smartspider.__file__).parent
T = TypeVar("T")


def below(kind: type[T]) -> list[type[T]]:
    """All classes of the product under one, as deep as they go."""
    found: list[type[T]] = [one for one in kind.__subclasses__() if one.__module__.startswith("smartspider.")]
    return [*found, *(deep for one in found for deep in below(one))]


EVENTS = below(events.Event)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_an_event_is_named_noun_verb_and_has_a_level(event: type[events.Event]) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z]+", event.name)
    assert event.level in {"debug", "info", "warning", "error"}
    assert event.__struct_fields__[0] == "run_id"


def test_no_two_events_have_one_name() -> None:
    names = [event.name for event in EVENTS]
    assert len(set(names)) == len(names) > 8


def test_events_can_not_be_changed() -> None:
    event = events.RunStarted(1, "task", is_resumed=False)
    with pytest.raises(AttributeError):
        event.task = "other"  # type: ignore[misc] # that is what is tested


def drawn() -> Iterator[tuple[int, str]]:
    """The names in the picture of the error tree, with how deep they stand."""
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"((?:│   |    )*[├└]── )?((?:[A-Z]\w+(?:, )?)+)(  |$)", line):
            for name in found[2].split(", "):
                yield len(found[1] or "") // 4, name


def test_the_drawn_tree_is_the_tree() -> None:
    picture = list(drawn())
    parents = {name: _parent(picture, position) for position, (_, name) in enumerate(picture)}
    classes: list[type[errors.SmartSpiderError]] = [errors.SmartSpiderError]
    classes += below(errors.SmartSpiderError)
    assert parents == {one.__name__: one.__bases__[0].__name__ for one in classes}


def _parent(picture: list[tuple[int, str]], position: int) -> str:
    depth = picture[position][0]
    above = [name for deep, name in picture[:position] if deep == depth - 1]
    return above[-1] if above else "Exception"


def test_every_error_has_a_code_of_its_own_a_message_and_a_hint() -> None:
    classes = below(errors.SmartSpiderError)
    assert len({one.code for one in classes}) == len(classes)
    for one in classes:
        error = one("what happened", hint="what to try")
        assert (error.message, error.hint, str(error)) == ("what happened", "what to try", "what happened")


def test_a_problem_shows_itself() -> None:
    problem = errors.Problem("a.b", "is wrong", "do this")
    assert repr(problem) == "Problem('a.b', 'is wrong', 'do this')"
    assert errors.TaskInvalid("bad", (problem,)).problems == (problem,)


@pytest.fixture
def _disarmed() -> Iterator[None]:
    yield
    failpoints.arm(None)


@pytest.mark.usefixtures("_disarmed")
def test_fail_points_are_silent_until_armed() -> None:
    reached: list[str] = []
    failpoints.reach("settle.items")
    failpoints.arm(reached.append)
    failpoints.reach("settle.items")
    failpoints.arm(None)
    failpoints.reach("settle.closed")
    assert reached == ["settle.items"]


def test_the_code_reaches_exactly_the_named_fail_points() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    reached = {name for text in texts for name in re.findall(r'\breach\("([^"]+)"\)', text)}
    settling, keeping = (*failpoints.NAMES, *failpoints.CLUSTER), (*failpoints.KEEPER, *failpoints.LEADER)
    writing = (
        *failpoints.TASKS,
        *failpoints.IDEMPOTENCY,
        *failpoints.MIGRATION,
        *failpoints.FILES,
        *failpoints.VAULT,
    )
    assert sorted(reached) == sorted((*settling, *writing, *keeping))
