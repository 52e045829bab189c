"""Ask the user at the terminal."""

from __future__ import annotations

import sys

import click

from smartspider.core.errors import NotAllowed, RequestInvalid


def confirm(question: str, what: str, *, yes: bool) -> None:
    """Return if the user confirms or `yes` is set; raise `NotAllowed` otherwise, or without a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotAllowed(f"{what} needs confirmation", hint="add --yes")
    if not click.confirm(question, err=True):
        raise NotAllowed("cancelled, nothing was changed")


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
