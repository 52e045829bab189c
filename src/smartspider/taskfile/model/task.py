"""The task: a saved definition of a crawl."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from pydantic import ConfigDict, Field, Tag, field_validator

from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.core.tasks import TaskSpec
from smartspider.taskfile.model.entries import EntryForm, ValueForm
from smartspider.taskfile.model.fetch import Fetch, PageFetch
from smartspider.taskfile.model.forms import LIST, MARK, NUMBER, OBJECT, SWITCH, TEXT, Section, by_form
from smartspider.taskfile.model.pages import Follow, PageType, Pagination, Selectors
from smartspider.taskfile.model.rules import StepForm
from smartspider.taskfile.model.schedule import Schedule
from smartspider.taskfile.model.sections import (
    Alerts,
    Archive,
    Dedup,
    LayerSection,
    Limits,
    Politeness,
    Recrawl,
    Retry,
    Scope,
    SinkSection,
    Traps,
)
from smartspider.taskfile.model.values import (
    Cron,
    HttpUrl,
    Pattern,
    TaskName,
    Text,
    validate_moment,
)

SCHEDULE = MARK + "schedule"
SITEMAP = MARK + "sitemap"


class Sitemap(Section):
    """A sitemap or sitemap index, and the pages to take from it."""

    url: HttpUrl = Field(description="URL of the sitemap.", examples=["https://example.com/sitemap.xml"])
    page: Text = Field(default=DEFAULT_PAGE, description="Page type of the pages it lists.")
    allow: list[Pattern] = Field(
        default=[], description="Regular expressions; a page must match one of them."
    )
    deny: list[Pattern] = Field(default=[], description="Regular expressions; matching pages are skipped.")
    newer_than: Text | None = Field(
        default=None, description="Only pages changed since: a date, or a duration.", examples=["7d"]
    )

    @field_validator("newer_than")
    @classmethod
    def _is_a_moment(cls, value: str | None) -> str | None:
        return None if value is None else validate_moment(value)


SitemapForm = Annotated[
    Annotated[HttpUrl, Tag(TEXT)] | Annotated[Sitemap, Tag(SITEMAP)],
    by_form({TEXT: TEXT, OBJECT: SITEMAP}, "a URL or an object with 'url'"),
]
Sitemaps = Annotated[
    Annotated[bool, Tag(SWITCH)] | Annotated[list[SitemapForm], Field(min_length=1), Tag(LIST)],
    by_form({SWITCH: SWITCH, LIST: LIST}, "true, false or a list of URLs"),
]
CookieId = Annotated[
    Annotated[int, Tag(NUMBER)] | Annotated[Text, Tag(TEXT)],
    by_form({NUMBER: NUMBER, TEXT: TEXT}, "an id: a whole number or text"),
]
ScheduleForm = Annotated[
    Annotated[Cron, Tag(TEXT)] | Annotated[Schedule, Tag(SCHEDULE)],
    by_form({TEXT: TEXT, OBJECT: SCHEDULE}, "a cron string or an object with 'cron'"),
]


FUNCTIONS = "$functions"
"""The key of `functions`: local commands set it, task files do not have it."""


class LocalFunctions(Section):
    """The Python files whose functions a task names: their folder, and their SHA-256 by path as written."""

    folder: str
    files: dict[str, str]


class Task(Section):
    """A SmartSpider task: where to start, what to extract and how to crawl."""

    model_config = ConfigDict(title="SmartSpider task")

    name: TaskName = Field(
        description="Name of the task: letters, digits, '_', '-' and '.'.", examples=["shop_prices"]
    )
    entry_urls: list[EntryForm] = Field(
        min_length=1,
        description="Where the crawl starts: URLs, objects with request options, or a file of URLs.",
        examples=[["https://example.com/list"]],
    )
    description: str | None = Field(default=None, description="What the task is for, in your own words.")
    schema_url: str | None = Field(
        default=None, alias="$schema", description="URL of the JSON Schema, for editors; it has no effect."
    )
    selectors: Selectors = Field(default=Selectors(), description="Items and fields to extract from a page.")
    follow: list[Follow] = Field(default=[], description="Links to follow.")
    pagination: Pagination | None = Field(
        default=None, description="How to reach the next page; adds no depth."
    )
    emit: bool = Field(default=True, description="Store the items of page type `default`.")
    pages: dict[Text, PageType] = Field(
        default={},
        description="Named page types. The top-level selectors, follow, pagination and emit are"
        " type `default`.",
    )
    variables: dict[Text, ValueForm] = Field(
        default={},
        description="Values for `{name}` in entry URLs, headers and bodies, and in `follow.request`.",
        examples=[{"year": 2026}],
    )
    scope: Scope = Field(default=Scope(), description="Which links belong to the crawl.")
    sitemaps: Sitemaps = Field(default=False, description="Start from sitemaps too: true, or their URLs.")
    fetch: Fetch = Field(default=Fetch(), description="How pages are fetched.")
    layers: list[LayerSection] = Field(
        default=[], description="Layers around each fetch, in order: they change requests and answers."
    )
    politeness: Politeness = Field(default=Politeness(), description="Politeness towards each host.")
    limits: Limits = Field(default=Limits(), description="Limits of the run.")
    traps: Traps = Field(default=Traps(), description="Limits against crawler traps.")
    retry: Retry = Field(default=Retry(), description="Retries of failed requests.")
    dedup: Dedup = Field(default=Dedup(), description="Deduplication of requests and items.")
    recrawl: Recrawl = Field(default=Recrawl(), description="How pages of earlier runs are treated.")
    pipeline: list[StepForm] = Field(default=[], description="Steps applied to every item, in order.")
    cleaning_log: bool = Field(default=False, description="Keep every value before and after each step.")
    sinks: list[SinkSection] = Field(default=[], description="Destinations besides the result store.")
    alerts: Alerts | None = Field(default=None, description="Conditions that pause or report a run.")
    archive: Archive = Field(default=Archive(), description="Archiving of pages.")
    concurrency: int = Field(default=16, ge=1, le=10_000, description="Maximum concurrent requests.")
    priority: int = Field(
        default=0, ge=0, le=1000, description="Weight on hosts shared with other runs: n counts as n + 1."
    )
    use_cookie: bool = Field(
        default=False,
        description="Send cookies from the vault: those uploaded for the domain of each host.",
    )
    cookie_id: CookieId | None = Field(
        default=None, description="Send these cookies from the vault: an id or a name (`cookie list`)."
    )
    account_pool: Text | None = Field(default=None, description="Pool of accounts.")
    schedule: ScheduleForm | None = Field(
        default=None, description="When runs start.", examples=["0 6 * * *"]
    )

    functions: LocalFunctions | None = Field(default=None, alias="$functions")

    @property
    def page_types(self) -> dict[str, PageType]:
        """All page types by name. The top-level one is first, unless `pages` defines `default`."""
        top = PageType(
            selectors=self.selectors, follow=self.follow, pagination=self.pagination, emit=self.emit
        )
        return self.pages if DEFAULT_PAGE in self.pages else {DEFAULT_PAGE: top, **self.pages}

    @property
    def fetch_sections(self) -> dict[str, Fetch | PageFetch]:
        """`fetch`, and those of page types, by their paths."""
        own = {f"pages.{name}.fetch": page.fetch for name, page in self.pages.items()}
        return {"fetch": self.fetch, **own}

    def link_method(self, page: str) -> str | None:
        """Return the method of links to pages of a type, or None if the type has none of its own."""
        return self.pages[page].fetch.method if page in self.pages else None

    def entry_method(self, page: str) -> str:
        """Return the method of entries of a page type."""
        return self.link_method(page) or self.fetch.method

    def as_written(self) -> dict[str, Any]:
        """Return the task as plain JSON values without defaults, in the user's order of fields and pages."""
        return self.model_dump(by_alias=True, exclude_defaults=True)


def task_spec(task: Task) -> TaskSpec:
    """Return the task as JSON without defaults, with its hash. Unsupported features are allowed."""
    written = task.as_written()
    identity = written
    if task.functions is not None:  # the files are part of the identity, their folder is not
        identity = {**written, FUNCTIONS: task.functions.files}
    return TaskSpec(
        name=task.name,
        spec=_json(written, is_sorted=False),
        spec_hash=hashlib.sha256(_json(identity, is_sorted=True)).hexdigest(),
    )


def _json(document: object, *, is_sorted: bool) -> bytes:
    """Encode a spec. Its field order is the order of columns; the hash ignores it."""
    return json.dumps(document, ensure_ascii=False, sort_keys=is_sorted, separators=(",", ":")).encode()
