"""What a person is asked at the terminal."""

from __future__ import annotations

import sys

import click

from smartspider.core.errors import NotAllowed, RequestInvalid


def confirm(question: str, what: str, *, yes: bool) -> None:
    """Go on only when the person says so, or said so before; raises `NotAllowed`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise NotAllowed(f"{what} must be confirmed", hint="add --yes")
    if not click.confirm(question, err=True):
        raise NotAllowed("nothing was changed")


def secret(what: str, *, is_new: bool = False) -> str:
    """A secret: asked for without showing it at a terminal, else the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, confirmation_prompt=is_new, err=True))
    line = sys.stdin.readline().rstrip("\n")
    if not line:
        raise RequestInvalid(f"{what}: standard input is empty", hint="give it in the first line")
    return line
