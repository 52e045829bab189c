"""Entries of a task: the requests that start a crawl, written one by one, as a list or as a file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue, Tag

from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.taskfile.model.forms import LIST, MARK, NUMBER, OBJECT, TEXT, Section, by_form, by_key
from smartspider.taskfile.model.pages import Body
from smartspider.taskfile.model.values import Headers, HttpUrl, Method, Priority, TemplateUrl, Text

ENTRY = MARK + "entry"
ENTRY_LIST = MARK + "entry_list"
ENTRY_FILE = MARK + "entry_file"
RANGE = MARK + "range"


class GraphQl(Section):
    """A GraphQL request."""

    query: Text = Field(description="The query or mutation.")
    variables: dict[str, JsonValue] = Field(default={}, description="Variables; templates are substituted.")
    operation: Text | None = Field(default=None, description="Name of the operation to execute.")


class Range(Section):
    """A range of integers, both ends included."""

    start: int = Field(alias="from", description="First number.")
    stop: int = Field(alias="to", description="Last number, inclusive.")
    step: int = Field(default=1, ge=1, description="Increment.")


ValueForm = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[int | float, Tag(NUMBER)],
    by_form({TEXT: TEXT, NUMBER: NUMBER}, "text or a number"),
]
EachForm = Annotated[
    Annotated[list[ValueForm], Field(min_length=1, max_length=100_000), Tag(LIST)]
    | Annotated[Range, Tag(RANGE)],
    by_form({LIST: LIST, OBJECT: RANGE}, "a list of values or an object with 'from' and 'to'"),
]


class EntryOptions(Section):
    """Keys of every entry besides its URL."""

    method: Method | None = Field(
        default=None,
        description="Default: `fetch.method` of the page type or the task; POST for GraphQL or with a body.",
    )
    headers: Headers = Field(default={}, description="Sent with this request.")
    body: Body | None = Field(default=None, description="Text is sent verbatim, an object or a list as JSON.")
    graphql: GraphQl | None = Field(default=None, description="A GraphQL query, sent by POST as JSON.")
    priority: Priority = Field(default=0, description="Higher priorities are fetched first.")
    page: Text = Field(default=DEFAULT_PAGE, description="Page type.")
    meta: dict[str, JsonValue] = Field(default={}, description="Values for rules of type `meta`.")


class Entry(EntryOptions):
    """A request that starts the crawl. `{name}` is replaced by a value of `each` or `variables`."""

    url: TemplateUrl = Field(description="The URL.", examples=["https://example.com/"])
    each: dict[Text, EachForm] = Field(
        default={},
        description="Template values: one request for each value, or combination of values.",
        examples=[{"year": {"from": 2020, "to": 2026}}, {"city": ["Berlin", "Paris"]}],
    )


class EntryList(EntryOptions):
    """Many requests with the same options. The URLs are literal; in the options, `{name}` is replaced by a
    value of `values` or `variables`.
    """

    urls: list[HttpUrl] = Field(
        min_length=1, description="The URLs.", examples=[["https://example.com/1", "https://example.com/2"]]
    )
    values: dict[Text, list[ValueForm]] = Field(
        default={},
        description="Template values: for each name a list with one value per URL.",
        examples=[{"sku": ["A1", "A2"]}],
    )


class EntryFile(EntryOptions):
    """A local file with the URLs of many requests. In the options, `{name}` is replaced by the value of the
    CSV column `name` in the URL's row, or by a value of `variables`; in `meta`, `{line}` by the line number.
    """

    file: Text = Field(
        description="File with one URL per line, or a CSV file if `column` is set; relative to the task file."
        " `-` is standard input. Only local commands read files.",
        examples=["urls.txt", "-"],
    )
    column: Text | None = Field(
        default=None, description="Name of the CSV column that contains the URLs.", examples=["url"]
    )


EntryForm = Annotated[
    Annotated[TemplateUrl, Tag(TEXT)]
    | Annotated[Entry, Tag(ENTRY)]
    | Annotated[EntryList, Tag(ENTRY_LIST)]
    | Annotated[EntryFile, Tag(ENTRY_FILE)],
    by_key(
        {"file": ENTRY_FILE, "urls": ENTRY_LIST},
        {TEXT: TEXT, OBJECT: ENTRY},
        "a URL or an object with 'url', 'urls' or 'file'",
    ),
]
