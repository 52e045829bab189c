"""The sections of a task from `scope` to `archive`, except `fetch`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, Tag

from smartspider.core.runs.plan import DEFAULT_ON_STATUS
from smartspider.taskfile.model.forms import LIST, MARK, NUMBER, OBJECT, SWITCH, TEXT, Section, by_form
from smartspider.taskfile.model.values import (
    Count,
    Depth,
    Domain,
    Duration,
    Param,
    Pattern,
    Share,
    Text,
)

ADAPTIVE = MARK + "adaptive"
_STATUS = Annotated[int, Field(ge=100, le=599)]


class Scope(Section):
    """The links that belong to the crawl. Default: those to the hosts of the entry URLs."""

    domains: list[Domain] = Field(
        default=[],
        description="Domains, subdomains included, instead of the entry hosts.",
        examples=[["example.com"]],
    )
    allow: list[Pattern] = Field(
        default=[], description="Regular expressions searched in the canonical URL; one must match."
    )
    deny: list[Pattern] = Field(
        default=[], description="Regular expressions searched in the canonical URL; deny wins over allow."
    )
    max_depth: Depth | None = Field(default=None, description="Maximum links followed from an entry URL.")
    same_host: bool = Field(default=False, description="A link must stay on the host of its page.")


class Politeness(Section):
    """Politeness towards each host. The strictest of all runs wins."""

    robots: Literal["obey", "ignore"] = Field(default="obey", description="Obey or ignore robots.txt.")
    delay_s: float = Field(
        default=0.5, ge=0, le=86_400, description="Seconds between requests to a host; 0 means none."
    )
    rate_per_s: float | None = Field(
        default=None, gt=0, le=100_000, description="Maximum requests per second and host."
    )
    per_host: int = Field(default=4, ge=1, le=10_000, description="Concurrent requests per host.")
    per_domain: int | None = Field(
        default=None, ge=1, le=10_000, description="Concurrent requests per registrable domain."
    )
    adaptive: bool = Field(default=True, description="Slow down when a host is overloaded.")


class Limits(Section):
    """Limits of the run; null means no limit."""

    max_pages: Count | None = Field(default=None, description="Maximum stored pages.")
    max_items: Count | None = Field(default=None, description="Maximum stored items.")
    max_depth: Depth | None = Field(default=None, description="Maximum links followed from an entry URL.")
    max_duration_s: float | None = Field(
        default=None, gt=0, le=1_000_000_000, description="Maximum seconds of work."
    )
    max_errors: Count | None = Field(default=None, description="Maximum failed requests.")


class Traps(Section):
    """Limits against crawler traps. Ordinary sites stay below them."""

    max_url_length: int = Field(default=2048, ge=16, le=100_000, description="Maximum URL length.")
    max_path_segments: int = Field(default=32, ge=1, le=1000, description="Maximum path segments.")
    max_repeats: int = Field(default=4, ge=1, le=1000, description="Maximum repeats of a path segment.")
    max_urls_per_host: Count | None = Field(
        default=None, description="Maximum distinct URLs per host; null means no limit."
    )
    max_links_per_page: int = Field(
        default=50_000, ge=1, le=1_000_000, description="Maximum links per page; the first ones are kept."
    )


class Retry(Section):
    """Retries of failed requests."""

    max_attempts: int = Field(default=4, ge=1, le=100, description="Maximum attempts per request.")
    backoff_s: float = Field(default=1.0, ge=0, le=86_400, description="First delay; it doubles each time.")
    max_backoff_s: float = Field(default=300.0, ge=0, le=86_400, description="Maximum delay.")
    on_status: list[_STATUS] = Field(default=sorted(DEFAULT_ON_STATUS), description="HTTP statuses to retry.")


class Dedup(Section):
    """Deduplication of requests and items."""

    urls: Literal["exact", "bloom"] = Field(
        default="exact", description="Store known URLs exactly, or in a Bloom filter."
    )
    window: Duration | None = Field(
        default=None, description="How long a fetched URL counts as known.", examples=["7d"]
    )
    items: (
        Annotated[
            Annotated[Literal["content"], Tag(TEXT)] | Annotated[list[Text], Field(min_length=1), Tag(LIST)],
            by_form({TEXT: TEXT, LIST: LIST}, "'content' or a list of field names"),
        ]
        | None
    ) = Field(default=None, description="Drop items with equal content, or equal fields.")
    scope: Literal["run", "task"] = Field(default="run", description="Compare within a run or a task.")
    keep: Literal["first", "last"] = Field(default="first", description="Which of two duplicates to keep.")
    update: list[Text] = Field(
        default=[],
        description="Fields of the kept item that a later duplicate overwrites, such as counters.",
        examples=[["likes", "views"]],
    )
    ignore_params: list[Param] = Field(
        default=[], description="Query parameters to ignore.", examples=[["sessionid"]]
    )
    drop_tracking: bool = Field(
        default=True,
        description="Ignore well-known tracking parameters (utm_*, gclid, ...).",
    )
    drop_session_ids: bool = Field(
        default=True,
        description="Ignore session ids in paths and queries (;jsessionid=, PHPSESSID, ...).",
    )


class Adaptive(Section):
    """Bounds of the adaptive interval of each page."""

    min: Duration = Field(default="1h", description="Interval of a page that always changes.")
    max: Duration = Field(default="30d", description="Interval of a page that never changes.")


class Recrawl(Section):
    """Treatment of pages that an earlier run of the task fetched."""

    conditional: bool = Field(
        default=False,
        description="Send conditional requests (ETag, Last-Modified); an unchanged page keeps its items.",
    )
    adaptive: Annotated[
        Annotated[bool, Tag(SWITCH)] | Annotated[Adaptive, Tag(ADAPTIVE)],
        by_form({SWITCH: SWITCH, OBJECT: ADAPTIVE}, "true, false or an object with 'min' and 'max'"),
    ] = Field(default=False, description="Revisit each page at the rate it changes.")


class LayerSection(Section):
    """A layer around each fetch, which changes requests or answers; further keys are its options."""

    model_config = ConfigDict(extra="allow", title="Layer")
    __pydantic_extra__: dict[str, JsonValue]

    use: Text = Field(description="Name of the layer.", examples=["json"])
    pages: list[Text] | None = Field(
        default=None, min_length=1, description="Page types that it is for; default: all."
    )


class SinkSection(Section):
    """A destination of items besides the built-in result store; further keys are its options."""

    model_config = ConfigDict(extra="allow", title="Sink")
    __pydantic_extra__: dict[str, JsonValue]

    use: Text = Field(description="Name of the sink.", examples=["webhook"])


class Alerts(Section):
    """Conditions that pause a failing run or send a notification."""

    consecutive_failures: Count | None = Field(
        default=5, description="Consecutive failures; null disables it."
    )
    failure_rate: Share | None = Field(default=None, description="Share of failed requests.")
    empty_fields: (
        Annotated[
            Annotated[Share, Tag(NUMBER)] | Annotated[list[Text], Field(min_length=1), Tag(LIST)],
            by_form({NUMBER: NUMBER, LIST: LIST}, "a share between 0 and 1 or a list of field names"),
        ]
        | None
    ) = Field(default=None, description="Share of empty values, or fields that must not become empty.")
    action: Literal["pause", "notify"] = Field(default="pause", description="Pause the run, or only notify.")


class Archive(Section):
    """Archiving of pages."""

    warc: bool = Field(default=False, description="Write responses to WARC files.")
