"""Problem responses of a server, as exceptions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from smartspider.core import errors
from smartspider.views.problem import ProblemView


class _LenientProblem(ProblemView, frozen=True):
    """A problem that may lack a hint, as servers of other versions send it."""

    hint: str = ""


_decode = msgspec.json.Decoder(_LenientProblem).decode

_BY_STATUS: dict[int, type[errors.SmartSpiderError]] = {
    400: errors.RequestInvalid,
    401: errors.NotSignedIn,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    412: errors.Outdated,
    413: errors.RequestInvalid,
    415: errors.RequestInvalid,
    422: errors.RequestInvalid,
    502: errors.ServerUnreachable,
    503: errors.StoreUnavailable,
    504: errors.ServerUnreachable,
}
_MAX_RETRY_AFTER_S = 86_400.0


def error_of(
    status: int, body: bytes, retry_after: str | None = None, *, server: str = ""
) -> errors.SmartSpiderError:
    """Return the error that a response of a server describes; `server` is its address.

    A body that is not a problem document comes from another program. Only a refused WebSocket has no body.
    """
    try:
        problem = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if status != 429 and (body or status == 503 or status not in _BY_STATUS):
            return _not_smartspider(status, server)
        problem = _LenientProblem("", status, "", f"the server returned status {status}", hint=_hint(status))
    if status == 429:
        return errors.TooMany(problem.detail, retry_after_s=_seconds(retry_after), hint=problem.hint)
    kind = KINDS.get(problem.code) or _BY_STATUS.get(status, errors.SmartSpiderError)
    if issubclass(kind, errors.RequestInvalid):
        problems = tuple(errors.Problem(one.path, one.message, one.hint) for one in problem.errors)
        return kind(problem.detail, problems, hint=problem.hint)
    return kind(problem.detail, hint=problem.hint)


def _not_smartspider(status: int, server: str) -> errors.ServerUnreachable:
    return errors.ServerUnreachable(
        f"{server or 'the server'} did not return a SmartSpider response (status {status})",
        hint="check that the URL (--server, SMARTSPIDER_SERVER) points to a SmartSpider server",
    )


def _hint(status: int) -> str:
    if status == 401:
        return "use a token of this server (--token, SMARTSPIDER_TOKEN)"
    return "" if status in (403, 404, 429) else "check that the URL points to a SmartSpider server"


def _seconds(retry_after: str | None) -> float:
    if retry_after and retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 10:
        return min(float(retry_after), _MAX_RETRY_AFTER_S)
    return 1.0


def _kinds(kind: type[errors.SmartSpiderError]) -> Iterator[type[errors.SmartSpiderError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below)


KINDS: dict[str, type[errors.SmartSpiderError]] = {
    kind.code: kind for kind in _kinds(errors.SmartSpiderError) if kind is not errors.TooMany
}
"""Errors by the code of the problem; other codes are mapped by status."""
