"""Default hints for errors without a hint of their own: every problem has one."""

from __future__ import annotations

from smartspider.core.errors import FetchFailed, SmartSpiderError, TaskInvalid

PATHS = "GET /api/openapi.json lists all paths; /api/docs shows them"
EXPECTED = "see the operation in GET /api/openapi.json or at /api/docs"
TASKS = "GET /api/schema/task is the JSON Schema of tasks"
PAGES = "check the page in a browser; `smartspider fetch URL` shows the response"

BY_STATUS = {
    400: "send JSON, with `Content-Type: application/json`",
    401: "send `Authorization: Bearer TOKEN` with a valid token",
    403: "use a token whose role and scopes allow this",
    404: "list the resources to find valid ids",
    405: PATHS,
    408: "send the complete request before the timeout",
    409: "get the current state and try again",
    412: "get the newest version and apply the change to it",
    413: "send a smaller body, or split the request",
    415: "send application/json",
    422: EXPECTED,
    429: "try again after the number of seconds in `Retry-After`",
    431: "send fewer or shorter headers",
    500: "try again; the server log has details",
    503: "try again in a moment; /readyz and `smartspider doctor` show failed checks",
}
"""Default hints by status."""


def default_hint(status: int) -> str:
    """Return the default hint of a status."""
    return BY_STATUS.get(status, EXPECTED)


def hint_for(error: SmartSpiderError, status: int) -> str:
    """Return the default hint of an error that is answered with a status."""
    match error:
        case TaskInvalid():
            return TASKS
        case FetchFailed():
            return PAGES
        case _:
            return default_hint(status)
