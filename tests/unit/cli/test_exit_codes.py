"""One table says how commands end."""

from __future__ import annotations

import pytest

from smartspider.cli import commands
from smartspider.cli.exit_codes import ERRORS, Exit, code_of_error, code_of_findings, code_of_run
from smartspider.cli.main import main
from smartspider.core import errors
from smartspider.core.runs.run import Counters, Run, RunState


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


def run_in(state: RunState, reason: str = "", **counters: int) -> Run:
    return Run(7, "task", b"{}", "hash", state, reason, Counters(**counters), 0, 0.0)


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (run_in("completed"), 0),
        (run_in("completed", "limit: max_pages 5 reached", done=5), 0),
        (run_in("completed", missing=3, skipped=2), 0),
        (run_in("completed", dead=1), 7),
        (run_in("completed", broken=1), 7),
        (run_in("failed", "no entry URL could be fetched"), 6),
        (run_in("failed", dead=1), 6),
        (run_in("paused", "guard: 5 failures in a row"), 6),
        (run_in("paused", "interrupted"), 130),
        (run_in("paused", "interrupted", dead=1), 130),
        (run_in("stopped"), 130),
        (run_in("cancelled"), 130),
        (run_in("running"), 130),
    ],
    ids=lambda value: f"{value.state} {value.reason}" if isinstance(value, Run) else str(value),
)
def test_the_exit_code_says_how_the_run_ended(run: Run, code: int) -> None:
    assert code_of_run(run) == code


def test_a_command_that_foreign_code_ends_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(commands.app, "main", leave)
    assert main(["doctor"]) == Exit.FAILED
    assert "error: a function or a plug-in wanted to end the program" in capsys.readouterr().err
