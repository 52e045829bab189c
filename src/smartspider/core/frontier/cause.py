"""Causes: stable codes for why a request did not bring what it was made for, for programs."""

from __future__ import annotations

from typing import Literal, get_args

from smartspider.core.errors import CookieRetry, FetchFailed, LayerFailed, ProxyFailed
from smartspider.core.requests.refusal import RefusalCode

LostCause = Literal["signed_out", "known_page", "no_items"]
"""The answer is something else than the request was made for: a login form, a page that was fetched for
something else, a page of a list without items.
"""

FailureCause = Literal[
    "dns",
    "connect",
    "tls",
    "dropped",
    "timeout",
    "proxy",
    "bad_response",
    "too_large",
    "bad_encoding",
    "redirects",
    "bad_redirect",
    "secrets_withheld",
    "robots_unavailable",
    "host_down",
    "forbidden",
    "not_found",
    "rate_limited",
    "http_client_error",
    "http_server_error",
    "unexpected_status",
    "empty_answer",
    "layer_failed",
    "not_readable",
    "pattern_timeout",
    "unreadable",
    "not_storable",
    "fetch_failed",
]
"""The fetch failed, or its answer could not be read. Those of errors are the codes of `core/errors.py`."""

CauseCode = Literal[RefusalCode, FailureCause, LostCause]
"""Every cause. Those of requests that are skipped are refusals."""

RejectCause = Literal["missing_field", "refused_value"]
"""Why an item was rejected: a required field has no value, or a step refuses one."""

ProblemCause = Literal[CauseCode, RejectCause]

ProblemKind = Literal["failed", "lost", "rejected", "skipped"]
"""failed: dead or broken · lost: brought something else than it was followed for · rejected: items that were
not stored · skipped: closed by a rule without a fetch.
"""

CAUSES: tuple[CauseCode, ...] = get_args(CauseCode)
REJECT_CAUSES: tuple[RejectCause, ...] = get_args(RejectCause)
LOST_CAUSES: tuple[LostCause, ...] = get_args(LostCause)

_BY_CODE: dict[str, CauseCode] = {cause: cause for cause in CAUSES}
_BY_STATUS: dict[int, CauseCode] = {
    401: "forbidden",
    403: "forbidden",
    451: "forbidden",
    404: "not_found",
    410: "not_found",
    429: "rate_limited",
}


def cause_of_error(error: FetchFailed) -> CauseCode:
    """Return the cause of a failed fetch; `fetch_failed` for an error of a plug-in."""
    if isinstance(error, CookieRetry):
        return "signed_out"
    if isinstance(error, LayerFailed):
        return "layer_failed"
    return "proxy" if isinstance(error, ProxyFailed) else _BY_CODE.get(error.code, "fetch_failed")


def cause_of_status(status: int) -> CauseCode:
    """Return the cause of an answer whose status is not accepted."""
    if 400 <= status < 500:
        return _BY_STATUS.get(status, "http_client_error")
    return "http_server_error" if 500 <= status < 600 else "unexpected_status"
