"""Parameters of operations: where each is sent, and what it may be. Free of web and validation libraries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

MAX_LIMIT = 1000


class Param(msgspec.Struct, frozen=True, kw_only=True):
    """Describes a parameter in an `Annotated` type; a name in the path of an operation is sent there."""

    about: str = ""
    place: Literal["query", "body", "header"] = "query"
    alias: str | None = None
    """The name on the wire, if it is not the Python name."""
    wire: Any = None
    """The type on the wire, if it is stricter than the Python type."""
    wire_from: str = ""
    """The same as `module:name`, for a pydantic model."""
    rules: dict[str, Any] = {}
    """Constraints, by the names pydantic uses: `ge`, `le`, `max_length`, `pattern`, ..."""
    items: dict[str, Any] = {}
    """Constraints of the elements of a list."""
    examples: tuple[Any, ...] = ()
    default: Any = None
    """The default of a keyword of a `TypedDict`, which cannot name one itself."""
    is_also_query: bool = False
    """True for a key of the body that may be given in the query instead."""


def query(about: str, *, alias: str | None = None, wire: Any = None, **rules: Any) -> Param:
    """Describe a query parameter."""
    return Param(about=about, alias=alias, wire=wire, rules=rules)


def body(about: str = "", *, wire: Any = None, wire_from: str = "", **rules: Any) -> Param:
    """Describe a key of the JSON body."""
    return Param(about=about, place="body", wire=wire, wire_from=wire_from, rules=rules)


Id = Annotated[str, Param(about="The id of the object.", rules={"max_length": 40})]
RunId = Annotated[str, Param(about="The id of a run.", rules={"max_length": 40})]
TaskId = Annotated[str, Param(about="The id of a task, or its name.", rules={"max_length": 200})]
Limit = Annotated[int, query("Maximum number of items to return.", ge=1, le=MAX_LIMIT)]
Cursor = Annotated[str | None, query("`next` of the previous page.", max_length=500)]
IdempotencyKey = Annotated[
    str | None,
    Param(
        about="Any text that is new for each call. Within a day, the same call with the same key returns the "
        "first response and has no further effect.",
        place="header",
        alias="Idempotency-Key",
        rules={"min_length": 1, "max_length": 200},
        examples=("5f0c6d1e-start-of-monday",),
    ),
]
IfMatch = Annotated[
    int | str | None,
    Param(
        about="The ETag of the version to change. The response is 412 if a newer version exists.",
        place="header",
        alias="If-Match",
        wire=str | None,
        rules={"max_length": 200},
        examples=('"3"',),
    ),
]
