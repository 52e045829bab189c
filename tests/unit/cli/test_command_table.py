"""The table of commands, and how errors leave the program."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import click
import pytest

from smartspider import __version__
from smartspider.api import problems as default_hints
from smartspider.cli.commands import COMMANDS, SECTIONS
from smartspider.cli.main import hint_of, main
from smartspider.cli.terminal.output import print_message
from smartspider.cli.terminal.streams import printed_log_level
from smartspider.core import errors

Command = Callable[..., int]


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a function as the command `boom`."""

    def run(work: Callable[[], object], *options: str) -> int:
        module = ModuleType("a_command_for_tests")
        module.boom = click.Command("boom", callback=work)  # type: ignore[attr-defined] # a module made by hand
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, "boom", ("a_command_for_tests:boom", "Fails."))
        return main(["boom", *options])

    return run


def raising(error: BaseException) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.RequestInvalid("x"), 2),
        (errors.TaskInvalid("x"), 2),
        (errors.NotBuilt("x"), 2),
        (errors.SettingInvalid("x"), 2),
        (errors.NotFound("x"), 3),
        (errors.NotAllowed("x"), 4),
        (errors.StoreUnavailable("x"), 5),
        (errors.SmartSpiderError("a worker died 12 times"), 6),
        (click.UsageError("x"), 2),
        (click.BadParameter("x"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_exit_code(run_command: Command, error: BaseException, code: int) -> None:
    assert run_command(raising(error)) == code


@pytest.mark.parametrize(("result", "code"), [(0, 0), (7, 7), (None, 0), ("text", 0)])
def test_a_command_that_ends_well_decides_its_exit_code(
    run_command: Command, result: object, code: int
) -> None:
    assert run_command(lambda: result) == code


def test_a_defect_is_not_hidden(run_command: Command) -> None:
    with pytest.raises(ZeroDivisionError):
        run_command(raising(ZeroDivisionError()))


def test_an_error_says_what_and_what_to_try_on_stderr(
    run_command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(raising(errors.NotFound("there is no run 7", hint="look at `run list`")))
    captured = capsys.readouterr()
    assert captured.err == "error: there is no run 7\n  try: look at `run list`\n"
    assert captured.out == ""


def test_all_problems_of_a_task_are_shown(run_command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    problems = (errors.Problem("a.b", "is wrong", "do this"), errors.Problem("", "lacks a name"))
    run_command(raising(errors.TaskInvalid("bad", problems)))
    assert capsys.readouterr().err.splitlines() == [
        "error: the task is not valid (2 problems)",
        "  a.b: is wrong (do this)",
        "  lacks a name",
    ]


def test_one_problem_is_one_problem(run_command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(raising(errors.TaskInvalid("bad", (errors.Problem("a", "is wrong"),))))
    assert "(1 problem)" in capsys.readouterr().err


def test_what_is_no_task_is_not_called_one(run_command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(raising(errors.RequestInvalid("weak", (errors.Problem("a", "weak"),), hint="take more")))
    assert capsys.readouterr().err == "error: weak\n  try: take more\n"
    problems = (errors.Problem("name", "is wrong", "do this"), errors.Problem("scopes[0]", "is none"))
    run_command(raising(errors.RequestInvalid("bad", problems)))
    assert capsys.readouterr().err.splitlines() == [
        "error: the request is not valid (2 problems)",
        "  name: is wrong (do this)",
        "  scopes[0]: is none",
    ]


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (errors.NotFound("no such run", hint="GET /api/openapi.json lists all paths"), None),
        (errors.NotSignedIn("no token", hint="send `Authorization: Bearer TOKEN`"), "--token"),
        (errors.TaskInvalid("bad", hint="GET /api/schema/task describes tasks"), "`smartspider schema`"),
        (errors.StoreUnavailable("locked", hint="retry later; see /readyz"), "`smartspider doctor`"),
        (errors.RequestInvalid("bad", hint="send JSON, with `Content-Type: ...`"), "`smartspider --help`"),
        (errors.NotFound("no such run", hint="`smartspider run list` lists runs"), "`smartspider run list`"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_hint_about_the_rest_api_becomes_one_about_commands(
    run_command: Command, capsys: pytest.CaptureFixture[str], error: errors.SmartSpiderError, hint: str | None
) -> None:
    run_command(raising(error))
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == f"error: {error.message}"
    assert not rest if hint is None else hint in rest[0]


def test_no_default_hint_of_the_api_names_a_path_at_the_terminal() -> None:
    for status, hint in default_hints.BY_STATUS.items():
        shown = hint_of(errors.SmartSpiderError("x", hint=hint))
        assert not any(word in shown for word in ("/api", "/readyz", "Authorization", "headers", "body")), (
            status
        )


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crawll"]) == 2
    assert "crawll" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_help_lists_every_command_once_by_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-h"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [f"{title}:" for title in SECTIONS]
    assert [line for line in lines if line in titles] == titles
    listed = [line.split()[0] for line in lines[lines.index(titles[0]) :] if line and line not in titles]
    assert listed == list(COMMANDS) == [name for names in SECTIONS.values() for name in names]
    assert all(any(line.endswith(about) for line in lines) for _, about in COMMANDS.values())


@pytest.mark.parametrize(("wrong", "near"), [(["crwl"], "'crawl'"), (["task", "aply"], "'apply'")])
def test_an_unknown_command_names_the_nearest_one(
    capsys: pytest.CaptureFixture[str], wrong: list[str], near: str
) -> None:
    assert main(wrong) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message.startswith("error: ")
    assert near in message
    assert "--help`" in hint


def test_a_usage_error_looks_like_every_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crawl", "--oops", "x"]) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message.startswith("error: no such option")
    assert hint == "  try: `smartspider crawl --help`"


def test_help_shows_the_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "run", "start"]) == 0
    asked = capsys.readouterr().out
    assert main(["run", "start", "-h"]) == 0
    assert asked == capsys.readouterr().out
    assert main(["help", "crawl", "start"]) == 2
    assert main(["help", "crwl"]) == 2


def test_a_quiet_command_prints_errors_only(run_command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> object:
        print_message(f"a note at level {printed_log_level()}")
        raise errors.NotFound("gone")

    run_command(work, "-q")
    assert capsys.readouterr().err == "error: gone\n"
    run_command(work)  # the verbosity ended with the command before
    assert capsys.readouterr().err == "a note at level None\nerror: gone\n"
    run_command(work, "-vv")
    assert capsys.readouterr().err.startswith("a note at level debug\n")


def test_errors_are_coloured_only_where_a_terminal_shows_it(
    run_command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    run_command(raising(errors.NotFound("gone")))
    assert capsys.readouterr().err == "\x1b[31merror:\x1b[0m gone\n"
    monkeypatch.setenv("NO_COLOR", "1")
    run_command(raising(errors.NotFound("gone")))
    assert capsys.readouterr().err == "error: gone\n"


def test_help_imports_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> ModuleType:
        raise AssertionError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)  # most modules are imported already
    assert main(["--help"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        *("--help", "crawl --help", "run --help", "run watch --help", "why --help", "--version"),
        *("task apply --help", "results show --help", "logs --help", "schedule add --help", "token --help"),
        *(
            "user --help",
            "notification --help",
            "node --help",
            "profile add --help",
            "api --help",
            "worker --help",
        ),
    ],
)
def test_asking_for_help_needs_nothing_heavy(arguments: str) -> None:
    heavy = (
        "aiohttp pydantic selectolax lxml apsw yarl uvloop yaml rich publicsuffixlist fastapi uvicorn"
        " jwt argon2 structlog prometheus_client"
    )
    code = (
        "import sys; from smartspider.cli.main import main; code = main(sys.argv[1].split());"
        f"sys.stderr.write(' '.join(one for one in {heavy!r}.split() if one in sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def commands() -> Iterator[tuple[str, click.Command]]:
    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for sub in command.list_commands(context):
                one = command.get_command(context, sub)
                assert one is not None
                yield f"{name} {sub}", one


@pytest.mark.parametrize(
    ("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_is_there_with_its_help_and_json(name: str, command: click.Command) -> None:
    assert isinstance(command, click.Command)
    assert command.help
    options = {option for parameter in command.params for option in parameter.opts}
    prints_json_anyway = isinstance(command, click.Group) or name == "schema"
    assert prints_json_anyway or "--json" in options
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help


def test_a_table_line_is_a_sentence() -> None:
    assert all(about[0].isupper() and about.endswith(".") for _, about in COMMANDS.values())
