"""Page types: selectors, links to follow, pagination."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, Tag, ValidationInfo, field_validator

from smartspider.taskfile.model.fetch import PageFetch
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
    """The items and fields to extract from a page."""

    items: ItemsRule | None = Field(
        default=None,
        description="Elements that are one item each; without it the page is one item.",
        examples=[".product", {"type": "css", "expr": ".product"}],
    )
    fields: dict[Text, FieldRule] = Field(
        default={},
        description="The fields of an item: a CSS selector, a rule, a list of rules (the first that matches) "
        "or an object of rules (a nested item).",
        examples=[{"title": "h2::text", "url": "a::attr(href)"}],
    )


class RequestTemplate(Section):
    """A request built from a matched value. `{value}` is the value, `{name}` a field of its item or a
    variable of the task. Other braces are literal.
    """

    url: Text | None = Field(
        default=None,
        description="URL with templates; default: the value is the URL.",
        examples=["https://example.com/api/items/{value}"],
    )
    method: Method | None = Field(default=None, description="Default: GET, or POST when there is a body.")
    headers: Headers = Field(default={}, description="Sent with the request.")
    body: Body | None = Field(
        default=None,
        description="Text is sent verbatim, an object or a list as JSON; templates are substituted.",
    )


class Follow(Section):
    """Links to follow."""

    selector: Selector = Field(
        description="Elements with a link (href and src are implied), or `::attr()`.", examples=["a.detail"]
    )
    type: Literal["css", "xpath", "jmespath", "regex"] = Field(
        default="css", description="The language of `selector`."
    )
    to: Text | None = Field(default=None, description="Page type of the linked pages; default: this one.")
    allow: list[Pattern] = Field(
        default=[], description="Regular expressions; a link must match one of them.", examples=[["/item/"]]
    )
    deny: list[Pattern] = Field(default=[], description="Regular expressions; matching links are skipped.")
    priority: Priority = Field(default=0, description="Higher priorities are fetched first.")
    max_depth: Depth | None = Field(default=None, description="Follow only down to this depth.")
    carry: list[Text] = Field(
        default=[],
        description="Fields of the link's item to pass on; `meta` rules read them on the linked page.",
        examples=[["price", "category"]],
    )
    request: RequestTemplate | None = Field(
        default=None, description="The request to send, if it is not a plain GET of the matched URL."
    )


class OlderThan(Section):
    """Stop once all dates in a field are older."""

    field: Text = Field(description="Field with a date, as a `date` step returns it.", examples=["published"])
    than: Text = Field(description="A duration, or a date.", examples=["7d", "2026-01-01"])

    @field_validator("than")
    @classmethod
    def _is_a_moment(cls, value: str) -> str:
        return validate_moment(value)


class StopWhen(Section):
    """Conditions that end pagination before the last page."""

    empty: bool = Field(default=False, description="The page has no items.")
    seen: bool = Field(default=False, description="All its items are already stored (see `dedup.items`).")
    older_than: OlderThan | None = Field(default=None, description="All its dates are older.")


class _Pages(Section):
    """Keys of every pagination."""

    stop_when: StopWhen = Field(default=StopWhen(), description="Conditions that end pagination early.")


class NextLink(_Pages):
    """Follow a link until none matches."""

    type: Literal["next_link"] = Field(description="Kind of pagination.")
    selector: Selector = Field(description="Selector of the link.", examples=["a.next"])
    language: Literal["css", "xpath", "jmespath", "regex"] = Field(
        default="css", description="The language of `selector`."
    )


class PageParam(_Pages):
    """Fetch the entry, then add a page number to the query."""

    type: Literal["page_param"] = Field(description="Kind of pagination.")
    param: Param = Field(description="Name of the query parameter.", examples=["page"])
    start: int = Field(default=2, ge=0, le=1_000_000_000, description="First page number to request.")
    step: int = Field(default=1, ge=1, le=1_000_000, description="Added for each page.")
    stop: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000_000,
        description="Last number, inclusive; default: until a page has no items.",
    )

    @field_validator("stop")
    @classmethod
    def _comes_after_start(cls, value: int | None, info: ValidationInfo) -> int | None:
        start = info.data.get("start")
        if value is not None and start is not None and value < start:
            raise invalid_value(f"is below start ({start})", "stop is the last page number to request")
        return value


class Offset(_Pages):
    """Fetch the entry, then add an offset to the query."""

    type: Literal["offset"] = Field(description="Kind of pagination.")
    param: Param = Field(description="Name of the query parameter.", examples=["offset"])
    size: int = Field(ge=1, le=1_000_000, description="Items per page: the increment of the offset.")
    limit_param: Param | None = Field(
        default=None, description="Query parameter for the size, if the site requires one."
    )

    @field_validator("limit_param")
    @classmethod
    def _is_another(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and value == info.data.get("param"):
            raise invalid_value(
                "is also the parameter of the offset", "one of them would overwrite the other"
            )
        return value

    stop: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000_000,
        description="Last offset, inclusive; default: until a page has no items.",
    )


class Cursor(_Pages):
    """Copy a cursor from each response into the next request, until it is null."""

    type: Literal["cursor"] = Field(description="Kind of pagination.")
    expr: Selector = Field(description="JMESPath of the cursor in the response.", examples=["meta.next"])
    param: Param = Field(
        description="Where the cursor goes: a query parameter, or a path in the JSON body.",
        examples=["cursor", "variables.after"],
    )
    into: Literal["query", "body"] = Field(default="query", alias="in", description="Query or body.")


class Scroll(_Pages):
    """Scroll down; requires a browser."""

    type: Literal["scroll"] = Field(description="Kind of pagination.")


class HeaderLink(_Pages):
    """Follow `rel=next` of the Link header (RFC 8288)."""

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
    """A named type of page with its own rules."""

    selectors: Selectors = Field(default=Selectors(), description="What to extract from a page of this type.")
    follow: list[Follow] = Field(default=[], description="Links to follow from a page of this type.")
    pagination: Pagination | None = Field(
        default=None, description="How to reach the next page; adds no depth."
    )
    emit: bool = Field(
        default=True, description="Store the items; if false, `follow` only carries their fields."
    )
    fetch: PageFetch = Field(
        default=PageFetch(), description="How pages of this type are fetched, where it differs from `fetch`."
    )

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is extracted or followed."""
        return self == PageType(fetch=self.fetch)
