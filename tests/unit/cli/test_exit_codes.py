"""One table says how commands end."""

from __future__ import annotations

import pytest

from smartspider.cli import commands
from smartspider.cli.exit_codes import ERRORS, Exit, code_of_error, code_of_findings, code_of_state
from smartspider.cli.main import main
from smartspider.core import errors
from smartspider.core.runs.run import RunState


def test_the_codes_are_those_of_the_contract() -> None:
    assert sorted(Exit) == [0, 2, 3, 4, 5, 6, 7, 130]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.PrivateAddress("x"), 2),
        (errors.RobotsDisallowed("x"), 4),
        (errors.RobotsUnavailable("x"), 5),
        (errors.ConnectFailed("x"), 5),
        (errors.TooLarge("x"), 5),
        (errors.NotSignedIn("x"), 4),
        (errors.Forbidden("x"), 4),
        (errors.Conflict("x"), 4),
        (errors.ServerUnreachable("x"), 5),
        (errors.TooMany("x", retry_after_s=1.0), 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_request_that_failed_has_a_code_of_its_own(error: errors.SmartSpiderError, code: int) -> None:
    assert code_of_error(error) == code


def test_no_line_of_the_table_is_hidden_by_one_before_it() -> None:
    for number, (kind, _) in enumerate(ERRORS):
        assert not any(issubclass(kind, earlier) for earlier, _ in ERRORS[:number])


def test_a_look_around_fails_when_something_is_wrong() -> None:
    assert (code_of_findings(is_ok=True), code_of_findings(is_ok=False)) == (0, 6)


@pytest.mark.parametrize(
    ("state", "reason", "is_whole", "code"),
    [
        ("completed", "", True, 0),
        ("completed", "limit: max_pages 5 reached", True, 0),
        ("completed", "", False, 7),
        ("failed", "no entry URL could be fetched", True, 6),
        ("failed", "", False, 6),
        ("paused", "guard: 5 failures in a row", False, 6),
        ("paused", "interrupted", True, 130),
        ("paused", "interrupted", False, 130),
        ("stopped", "", True, 130),
        ("cancelled", "", True, 130),
        ("running", "", True, 130),
    ],
)
def test_the_exit_code_says_how_the_run_ended(
    state: RunState, reason: str, *, is_whole: bool, code: int
) -> None:
    assert code_of_state(state, reason, is_whole=is_whole) == code


def test_a_command_that_foreign_code_ends_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(commands.app, "main", leave)
    assert main(["doctor"]) == Exit.FAILED
    assert "error: a function or a plug-in wanted to end the program" in capsys.readouterr().err
