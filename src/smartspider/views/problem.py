"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.errors import Problem, RequestInvalid, SmartSpiderError


class Wrong(msgspec.Struct, frozen=True):
    """An error in the request, and the path of the invalid key."""

    path: str
    message: str
    hint: str = ""


class ProblemView(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error. `hint` suggests a fix and is never empty; `code` is stable and machine-readable."""

    title: str
    status: int
    code: str
    detail: str
    hint: str
    errors: list[Wrong] = []
    type: str = "about:blank"
    correlation_id: str = ""
    """The id to search for in the server log, for unexpected errors."""


def problem_of(error: SmartSpiderError, status: int, title: str) -> ProblemView:
    """Return the problem document of an error."""
    found = wrongs(error.problems) if isinstance(error, RequestInvalid) else []
    return ProblemView(title, status, error.code, error.message, error.hint, found)


def wrongs(problems: Sequence[Problem]) -> list[Wrong]:
    """Return the views of problems."""
    return [Wrong(one.path, one.message, one.hint) for one in problems]
