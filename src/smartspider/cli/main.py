"""The program `smartspider`: run a command and turn its errors into messages and exit codes.

Few modules are imported here, so that signals are handled early.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING

from smartspider.cli.exit_codes import Exit, code_of_error
from smartspider.cli.program import mark_program
from smartspider.cli.terminal.streams import coloured, safe_streams, sigterm_as_interrupt
from smartspider.core.errors import (
    NotSignedIn,
    Problem,
    RequestInvalid,
    SmartSpiderError,
    StoreUnavailable,
    TaskInvalid,
    TooMany,
)

if TYPE_CHECKING:
    import click

_REST = re.compile(
    r"/(api|readyz|healthz)\b|\b(GET|POST|PUT|PATCH|DELETE) /"
    r"|Authorization: |Content-Type|application/json|Retry-After|If-Match|Idempotency-Key"
    r"|the resources\b|smaller body|shorter headers|whole request"
)
"""Matches hints of a server that are about its REST API."""
_HINTS: tuple[tuple[type[SmartSpiderError], str], ...] = (
    (NotSignedIn, "check the token (--token, SMARTSPIDER_TOKEN, or `smartspider profile add`)"),
    (TooMany, "try again in a moment"),
    (TaskInvalid, "`smartspider schema` prints the JSON Schema of tasks"),
    (StoreUnavailable, "try again in a moment; `smartspider doctor` on the server checks its parts"),
    (RequestInvalid, "`smartspider --help` describes the commands and their options"),
)
"""Hints of the command line that replace them; the first match wins."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, which a closed output stream does not change.

    Without arguments it takes those of the process, which then runs nothing else.
    """
    if arguments is None:
        mark_program()
    with safe_streams(), sigterm_as_interrupt():
        code = _code_of(lambda: _run(arguments))
        flush_code = _code_of(_flush)
    code = code or flush_code
    if arguments is None and threading.active_count() > 1:
        from smartspider.engine.runtime import end_process

        end_process(code)
    return code


def _code_of(work: Callable[[], int]) -> int:
    """Return the exit code of a function, or that of the error it raises."""
    try:
        return work()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return Exit.INTERRUPTED
    except SmartSpiderError as error:
        print_error(error)
        return code_of_error(error)
    except SystemExit as error:
        if error.code:
            raise
        _print_lines("a function or a plug-in wanted to end the program", "let it raise an error instead")
        return Exit.FAILED


def _run(arguments: Sequence[str] | None) -> int:
    import click

    from smartspider.cli.commands import app

    try:
        # A context of its own, so that the verbosity ends with the command.
        code = copy_context().run(app.main, arguments, prog_name=app.name, standalone_mode=False)
    except click.ClickException as error:
        _print_usage_error(error)
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else Exit.OK


def _print_usage_error(error: click.ClickException) -> None:
    """Print a usage error in the style of all errors. A command without arguments shows its help."""
    import click

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    message = error.format_message().rstrip(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    _print_lines(message[:1].lower() + message[1:], f"`{ctx.command_path} --help`" if ctx else "")


def _flush() -> int:
    sys.stdout.flush()
    return Exit.OK


def print_error(error: SmartSpiderError) -> None:
    """Print what happened in one line and what to try in another; a line for each problem of a task."""
    is_task = isinstance(error, TaskInvalid)
    if isinstance(error, RequestInvalid) and len(error.problems) > (0 if is_task else 1):
        count, what = len(error.problems), "task" if is_task else "request"
        sys.stderr.write(
            f"{_error_label()} the {what} is not valid ({count} problem{'s' if count > 1 else ''})\n"
        )
        for problem in error.problems:
            path = f"{problem.path}: " if problem.path else ""
            shown = Problem(problem.path, problem.message) if _REST.search(problem.hint) else problem
            sys.stderr.write(f"  {path}{shown.line}\n")
        return
    _print_lines(error.message, hint_of(error))


def _print_lines(message: str, hint: str) -> None:
    sys.stderr.write(f"{_error_label()} {message}\n")
    if hint:
        sys.stderr.write(f"  {coloured('try:', 'cyan', sys.stderr)} {hint}\n")


def _error_label() -> str:
    return coloured("error:", "red", sys.stderr)


def hint_of(error: SmartSpiderError) -> str:
    """Return the hint of an error; a server's hint about its REST API is replaced by one about commands."""
    if not _REST.search(error.hint):
        return error.hint
    return next((hint for kind, hint in _HINTS if isinstance(error, kind)), "")
