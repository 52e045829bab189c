"""Errors as they are told (RFC 9457)."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import SmartSpiderError, TaskInvalid


class Wrong(msgspec.Struct, frozen=True):
    """One thing that is wrong with what was sent."""

    path: str
    message: str
    hint: str = ""


class ProblemView(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong and what to try. `code` is stable and made for programs."""

    title: str
    status: int
    code: str
    detail: str
    hint: str = ""
    errors: list[Wrong] = []
    type: str = "about:blank"
    correlation_id: str = ""
    """What to look for in the server's log, where something unexpected happened."""


def problem_of(error: SmartSpiderError, status: int, title: str) -> ProblemView:
    """An error as a problem."""
    wrong = []
    if isinstance(error, TaskInvalid):
        wrong = [Wrong(one.path, one.message, one.hint) for one in error.problems]
    return ProblemView(title, status, error.code, error.message, error.hint, wrong)
