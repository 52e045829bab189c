"""Problems of a server, as the errors they were."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from smartspider.core import errors
from smartspider.views.problem import ProblemView


class _Told(ProblemView, frozen=True):
    """As a server of another version may tell it."""

    hint: str = ""


_decode = msgspec.json.Decoder(_Told).decode

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
_LONGEST_RETRY_AFTER_S = 86_400.0


def error_of(
    status: int, body: bytes, retry_after: str | None = None, *, server: str = ""
) -> errors.SmartSpiderError:
    """The error that an answer of a server (its address) tells of.

    What is no problem of ours was said by something else. Only a WebSocket that is refused has no body.
    """
    try:
        problem = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if status != 429 and (body or status == 503 or status not in _BY_STATUS):
            return _of_something_else(status, server)
        problem = _Told("", status, "", f"the server answered {status}", hint=_hint(status))
    if status == 429:
        return errors.TooMany(problem.detail, retry_after_s=_seconds(retry_after), hint=problem.hint)
    kind = KINDS.get(problem.code) or _BY_STATUS.get(status, errors.SmartSpiderError)
    if issubclass(kind, errors.RequestInvalid):
        wrong = tuple(errors.Problem(one.path, one.message, one.hint) for one in problem.errors)
        return kind(problem.detail, wrong, hint=problem.hint)
    return kind(problem.detail, hint=problem.hint)


def _of_something_else(status: int, server: str) -> errors.ServerUnreachable:
    return errors.ServerUnreachable(
        f"{server or 'the server'} did not answer as a SmartSpider server does ({status})",
        hint="check the address (--server, SMARTSPIDER_SERVER): is this a SmartSpider server?",
    )


def _hint(status: int) -> str:
    if status == 401:
        return "send a token of this server (--token, SMARTSPIDER_TOKEN)"
    return "" if status in (403, 404, 429) else "is this a SmartSpider server?"


def _seconds(retry_after: str | None) -> float:
    if retry_after and retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 10:
        return min(float(retry_after), _LONGEST_RETRY_AFTER_S)
    return 1.0


def _kinds(kind: type[errors.SmartSpiderError]) -> Iterator[type[errors.SmartSpiderError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _kinds(below)


KINDS: dict[str, type[errors.SmartSpiderError]] = {
    kind.code: kind for kind in _kinds(errors.SmartSpiderError) if kind is not errors.TooMany
}
"""By the code of the problem; others go by their status."""
