"""Page types: what to take from a page, which links to follow from it, how its pages go on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, Tag, ValidationInfo, field_validator

from smartspider.taskfile.model.forms import LIST, MARK, OBJECT, TEXT, Section, by_form, by_kind
from smartspider.taskfile.model.rules import FieldRule, ItemsRule
from smartspider.taskfile.model.values import (
    Depth,
    Headers,
    Method,
    Param,
    Pattern,
    Priority,
    Selector,
    Text,
    invalid_value,
    validate_moment,
)

Body = Annotated[
    Annotated[str, Tag(TEXT)]
    | Annotated[dict[str, JsonValue], Tag(OBJECT)]
    | Annotated[list[JsonValue], Tag(LIST)],
    by_form({TEXT: TEXT, OBJECT: OBJECT, LIST: LIST}, "text, an object or a list"),
]


class Selectors(Section):
    """What to take from a page."""

    items: ItemsRule | None = Field(
        default=None,
        description="The elements that are one item each; without it the page is one item.",
        examples=[".product", {"type": "css", "expr": ".product"}],
    )
    fields: dict[Text, FieldRule] = Field(
        default={},
        description="The fields of an item: a CSS selector, a rule, a list of rules (the first that matches) "
        "or an object of rules (a nested item).",
        examples=[{"title": "h2::text", "url": "a::attr(href)"}],
    )


class RequestTemplate(Section):
    """The request that a found value leads to. `{value}` stands for the value, `{name}` for a field of the
    item it was found in, or a variable of the task. Other braces stay as they are.
    """

    url: Text | None = Field(
        default=None,
        description="URL with templates; default: the value is the URL.",
        examples=["https://example.com/api/items/{value}"],
    )
    method: Method | None = Field(default=None, description="Default: GET, or POST when there is a body.")
    headers: Headers = Field(default={}, description="Sent with the request.")
    body: Body | None = Field(
        default=None, description="Text is sent as it is, an object or a list as JSON; templates are put in."
    )


class Follow(Section):
    """Links to go on with."""

    selector: Selector = Field(
        description="Elements with a link (href and src are implied), or `::attr()`.", examples=["a.detail"]
    )
    type: Literal["css", "xpath", "jmespath", "regex"] = Field(
        default="css", description="The language of `selector`."
    )
    to: Text | None = Field(default=None, description="Page type of the pages found; default the same.")
    allow: list[Pattern] = Field(
        default=[], description="Regular expressions; a link must match one of them.", examples=[["/item/"]]
    )
    deny: list[Pattern] = Field(
        default=[], description="Regular expressions; a link that matches one is left out."
    )
    priority: Priority = Field(default=0, description="Higher is fetched earlier.")
    max_depth: Depth | None = Field(default=None, description="Follow only down to this depth.")
    carry: list[Text] = Field(
        default=[],
        description="Fields of the item the link stands in; `meta` rules read them on the page found.",
        examples=[["price", "category"]],
    )
    request: RequestTemplate | None = Field(
        default=None, description="What to ask for, when it is more than the URL that was found."
    )


class OlderThan(Section):
    """The dates of a field are all older than this."""

    field: Text = Field(
        description="Field with the date, as a `date` step leaves it.", examples=["published"]
    )
    than: Text = Field(description="A duration, or a date.", examples=["7d", "2026-01-01"])

    @field_validator("than")
    @classmethod
    def _is_a_moment(cls, value: str) -> str:
        return validate_moment(value)


class StopWhen(Section):
    """When pagination ends although there would be a next page."""

    empty: bool = Field(default=False, description="The page has no item.")
    seen: bool = Field(
        default=False, description="None of its items is new: all were stored before (see `dedup.items`)."
    )
    older_than: OlderThan | None = Field(default=None, description="All its items are older.")


class _Pages(Section):
    """What every pagination has."""

    stop_when: StopWhen = Field(default=StopWhen(), description="When to end before the pages do.")


class NextLink(_Pages):
    """The link found, until there is none."""

    type: Literal["next_link"] = Field(description="Kind of pagination.")
    selector: Selector = Field(description="Selector of the link.", examples=["a.next"])
    language: Literal["css", "xpath", "jmespath", "regex"] = Field(
        default="css", description="The language of `selector`."
    )


class PageParam(_Pages):
    """The entry as it is, then with a page number in the query."""

    type: Literal["page_param"] = Field(description="Kind of pagination.")
    param: Param = Field(description="Name of the query parameter.", examples=["page"])
    start: int = Field(default=2, ge=0, le=1_000_000_000, description="First number that is asked for.")
    step: int = Field(default=1, ge=1, le=1_000_000, description="Added for each page.")
    stop: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000_000,
        description="Last number, inclusive; without it until a page has no item.",
    )

    @field_validator("stop")
    @classmethod
    def _comes_after_start(cls, value: int | None, info: ValidationInfo) -> int | None:
        start = info.data.get("start")
        if value is not None and start is not None and value < start:
            raise invalid_value(f"is below start ({start})", "stop is the last number that is asked for")
        return value


class Offset(_Pages):
    """The entry as it is, then with an offset in the query."""

    type: Literal["offset"] = Field(description="Kind of pagination.")
    param: Param = Field(description="Name of the query parameter.", examples=["offset"])
    size: int = Field(ge=1, le=1_000_000, description="Items on a page: what the offset grows by.")
    limit_param: Param | None = Field(
        default=None, description="Query parameter that carries the size, if the site wants one."
    )

    @field_validator("limit_param")
    @classmethod
    def _is_another(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and value == info.data.get("param"):
            raise invalid_value("is the parameter of the offset too", "one of them would overwrite the other")
        return value

    stop: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000_000,
        description="Last offset, inclusive; without it until a page has no item.",
    )


class Cursor(_Pages):
    """A value of the answer goes into the next request, until it is null."""

    type: Literal["cursor"] = Field(description="Kind of pagination.")
    expr: Selector = Field(description="JMESPath of the cursor in the answer.", examples=["meta.next"])
    param: Param = Field(
        description="Where the cursor goes: a query parameter, or a path in the JSON body.",
        examples=["cursor", "variables.after"],
    )
    into: Literal["query", "body"] = Field(default="query", alias="in", description="Query or body.")


class Scroll(_Pages):
    """Scrolling down, with a browser only."""

    type: Literal["scroll"] = Field(description="Kind of pagination.")


class HeaderLink(_Pages):
    """The `rel=next` of the Link header (RFC 8288)."""

    type: Literal["header_link"] = Field(description="Kind of pagination.")


Pagination = Annotated[
    Annotated[NextLink, Tag(MARK + "next_link")]
    | Annotated[PageParam, Tag(MARK + "page_param")]
    | Annotated[Offset, Tag(MARK + "offset")]
    | Annotated[Cursor, Tag(MARK + "cursor")]
    | Annotated[Scroll, Tag(MARK + "scroll")]
    | Annotated[HeaderLink, Tag(MARK + "header_link")],
    by_kind(("next_link", "page_param", "offset", "cursor", "scroll", "header_link")),
]


class PageType(Section):
    """A named kind of page with rules of its own."""

    selectors: Selectors = Field(default=Selectors(), description="What to take from a page of this type.")
    follow: list[Follow] = Field(default=[], description="Links to go on with from a page of this type.")
    pagination: Pagination | None = Field(default=None, description="How a list goes on; adds no depth.")
    emit: bool = Field(
        default=True, description="Items are rows; false: their fields are only carried along by `follow`."
    )

    @property
    def is_empty(self) -> bool:
        """Nothing is taken and nothing followed."""
        return self == PageType()
