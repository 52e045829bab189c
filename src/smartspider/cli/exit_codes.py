"""Exit codes of commands, by error, run state and check result."""

from __future__ import annotations

from enum import IntEnum

from smartspider.core import errors


class Exit(IntEnum):
    """Exit codes of the commands; part of the public interface."""

    OK = 0
    USAGE = 2
    NOT_FOUND = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5
    FAILED = 6
    PARTLY_FAILED = 7
    INTERRUPTED = 130


ERRORS: tuple[tuple[type[errors.SmartSpiderError], Exit], ...] = (
    (errors.RequestInvalid, Exit.USAGE),
    (errors.NotBuilt, Exit.USAGE),
    (errors.SettingInvalid, Exit.USAGE),
    (errors.PrivateAddress, Exit.USAGE),
    (errors.NotFound, Exit.NOT_FOUND),
    (errors.NotAllowed, Exit.NOT_ALLOWED),
    (errors.NotSignedIn, Exit.NOT_ALLOWED),
    (errors.RobotsDisallowed, Exit.NOT_ALLOWED),
    (errors.StoreUnavailable, Exit.UNREACHABLE),
    (errors.ServerUnreachable, Exit.UNREACHABLE),
    (errors.TooMany, Exit.UNREACHABLE),
    (errors.FetchFailed, Exit.UNREACHABLE),
    (errors.SmartSpiderError, Exit.FAILED),
)
"""First match wins: subclasses come before their base classes."""


def code_of_error(error: errors.SmartSpiderError) -> Exit:
    """Return the exit code of a command that raised an error."""
    return next(code for kind, code in ERRORS if isinstance(error, kind))


def code_of_state(state: str, reason: str, *, is_whole: bool) -> Exit:
    """Return the exit code for a run's state and reason; `is_whole`: nothing failed and nothing was lost."""
    if state == "completed":
        return Exit.OK if is_whole else Exit.PARTLY_FAILED
    if state == "failed" or reason.startswith("guard:"):
        return Exit.FAILED
    return Exit.INTERRUPTED


def code_of_findings(*, is_ok: bool) -> Exit:
    """Return the exit code of a check."""
    return Exit.OK if is_ok else Exit.FAILED
