"""Results go to standard output, messages to standard error."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

import click
import msgspec

from smartspider.cli.exit_codes import Exit
from smartspider.cli.terminal.streams import is_quiet, write_data
from smartspider.core.errors import NotAllowed, RequestInvalid

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def json_option(about: str = "Print JSON.") -> Callable[[F], F]:
    """Add the option `--json` to a command that prints by itself, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=about)


@overload
def printed(
    *, message: str = "", about: str = "Print JSON."
) -> Callable[[Callable[..., Any]], Callable[..., int]]: ...
@overload
def printed(
    render: Callable[[T], object] | None = None,
    *,
    message: Callable[[T], str] | str = "",
    to_json: Callable[[T], Any] | None = None,
    exit_code: Callable[[T], int] | None = None,
    per_line: bool = False,
    about: str = "Print JSON.",
) -> Callable[[Callable[..., T]], Callable[..., int]]: ...
def printed(
    render: Callable[[T], object] | None = None,
    *,
    message: Callable[[T], str] | str = "",
    to_json: Callable[[T], Any] | None = None,
    exit_code: Callable[[T], int] | None = None,
    per_line: bool = False,
    about: str = "Print JSON.",
) -> Callable[[Callable[..., T]], Callable[..., int]]:
    """Print the value that a command returns; adds the option `--json`, which `about` describes.

    With `--json` the value, or what `to_json` makes of it, is printed as JSON: one document, or with
    `per_line` one line per element. Without, `render` prints it. `message`, a function or a
    template for `str.format`, goes to standard error either way.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., int]:
        @functools.wraps(command)
        def wrapper(*args: Any, as_json: bool, **options: Any) -> int:
            value = command(*args, **options)
            if as_json:
                shown: Any = value if to_json is None else to_json(value)
                if per_line:
                    for one in shown:
                        print_json_line(one)
                else:
                    print_json(shown)
            elif render is not None:
                render(value)
            text = message.format(value) if isinstance(message, str) else message(value)
            if text:
                print_message(text)
            return Exit.OK if exit_code is None else exit_code(value)

        return json_option(about)(wrapper)

    return decorate


def print_json(value: Any) -> None:
    """Print a JSON document to standard output."""
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
    write_data(text + "\n")


def print_json_line(value: Any) -> None:
    """Print a JSON value as one line to standard output."""
    write_data(msgspec.json.encode(value, enc_hook=str).decode() + "\n")


def print_line(text: str) -> None:
    """Print a line of the result to standard output."""
    sys.stdout.write(text + "\n")


def print_message(text: str) -> None:
    """Print a message to standard error, unless the command is quiet."""
    if not is_quiet():
        sys.stderr.write(text + "\n")


def format_size(count: int) -> str:
    """Format a number of bytes: `1.2 MB`."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return ""


def join_names(names: list[str]) -> str:
    """Join file names with commas; of more than six only the first and the last are named."""
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} to {names[-1]} ({len(names)} files)"


def confirm(question: str, what: str, *, yes: bool) -> None:
    """Return if the user confirms or `yes` is set; raise `NotAllowed` otherwise, or without a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotAllowed(f"{what} requires confirmation", hint="add --yes")
    if not click.confirm(question, err=True):
        raise NotAllowed("cancelled; nothing was changed")


def ask_secret(what: str, *, is_new: bool = False) -> str:
    """Prompt for a secret without echo, or read the first line of standard input if that is no terminal."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, confirmation_prompt=is_new, err=True))
    line = sys.stdin.readline().rstrip("\n")
    if not line:
        raise RequestInvalid(
            f"{what}: standard input is empty", hint="write it on the first line of standard input"
        )
    return line
