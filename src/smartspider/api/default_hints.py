"""What to try when whoever found a mistake had no better idea: no problem is told without it."""

from __future__ import annotations

from smartspider.core.errors import FetchFailed, SmartSpiderError, TaskInvalid

PATHS = "GET /api/openapi.json lists all paths; /api/docs shows them"
EXPECTED = "GET /api/openapi.json says what is expected here; /api/docs shows it"
TASKS = "GET /api/schema/task says what a task may have"
PAGES = "look whether a browser gets the page; `smartspider fetch URL` tells more"

PLAIN = {
    400: "send JSON, with `Content-Type: application/json`",
    401: "send `Authorization: Bearer TOKEN` with a token that is good",
    403: "use a token whose role and scopes allow it",
    404: "look at the list of those there are; ids are as lists tell them",
    405: PATHS,
    408: "send the request in one go",
    409: "look at how it stands now, and decide anew",
    412: "get the newest version, and change that one",
    413: "send less, or in parts",
    415: "send application/json",
    422: EXPECTED,
    429: "come back after the seconds of `Retry-After`",
    431: "send fewer or shorter headers",
    500: "try again; the server's log tells more",
    503: "come back in a moment; /readyz and `smartspider doctor` say what is missing",
}
"""By status."""


def default_hint(status: int) -> str:
    """What to try after an answer with this status."""
    return PLAIN.get(status, EXPECTED)


def hint_for(error: SmartSpiderError, status: int) -> str:
    """The same, for an error of ours that is answered with this status."""
    match error:
        case TaskInvalid():
            return TASKS
        case FetchFailed():
            return PAGES
        case _:
            return default_hint(status)
