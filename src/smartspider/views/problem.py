"""Errors as they are told (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.errors import Problem, RequestInvalid, SmartSpiderError


class Wrong(msgspec.Struct, frozen=True):
    """One thing that is wrong with what was sent."""

    path: str
    message: str
    hint: str = ""


class ProblemView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong and what to try, which is never empty. `code` is stable and made for programs."""

    title: str
    status: int
    code: str
    detail: str
    hint: str
    errors: list[Wrong] = []
    type: str = "about:blank"
    correlation_id: str = ""
    """What to look for in the server's log, where something unexpected happened."""


def problem_of(error: SmartSpiderError, status: int, title: str) -> ProblemView:
    """An error as a problem."""
    wrong = wrongs(error.problems) if isinstance(error, RequestInvalid) else []
    return ProblemView(title, status, error.code, error.message, error.hint, wrong)


def wrongs(problems: Sequence[Problem]) -> list[Wrong]:
    """Problems as they are told."""
    return [Wrong(one.path, one.message, one.hint) for one in problems]
