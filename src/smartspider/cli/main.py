"""`smartspider`: where a command begins, and how errors leave it.

Little is imported here, so that a signal finds somebody from the first moment on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from smartspider.cli.exit_codes import Exit, code_of_error
from smartspider.cli.signals import terminable
from smartspider.cli.streams import steady_streams
from smartspider.core.errors import RequestInvalid, SmartSpiderError, TaskInvalid


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code it ends with. A reader that goes away early changes nothing about it."""
    with steady_streams(), terminable():
        code = _code_of(lambda: _run(arguments))
        told = _code_of(_flush)
        return code or told


def _code_of(work: Callable[[], int]) -> int:
    """What the work gives, or what its error means."""
    try:
        return work()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return Exit.INTERRUPTED
    except SmartSpiderError as error:
        show_error(error)
        return code_of_error(error)


def _run(arguments: Sequence[str] | None) -> int:
    import click

    from smartspider.cli.commands import app

    try:
        code = app.main(arguments, prog_name=app.name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else Exit.OK


def _flush() -> int:
    sys.stdout.flush()
    return Exit.OK


def show_error(error: SmartSpiderError) -> None:
    """One line that says what, and one that says what to try."""
    is_task = isinstance(error, TaskInvalid)
    if isinstance(error, RequestInvalid) and len(error.problems) > (0 if is_task else 1):
        count, what = len(error.problems), "the task" if is_task else "what was asked"
        sys.stderr.write(f"error: {what} is not valid ({count} problem{'s' if count > 1 else ''})\n")
        for problem in error.problems:
            place = f"{problem.path}: " if problem.path else ""
            sys.stderr.write(f"  {place}{problem.line}\n")
        return
    sys.stderr.write(f"error: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  try: {error.hint}\n")
