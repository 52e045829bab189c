"""The sections of a task that say how it runs, from `scope` to `archive`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, Tag

from smartspider.core.requests.retry import DEFAULT_ON_STATUS
from smartspider.taskfile.model.forms import LIST, MARK, NUMBER, OBJECT, SWITCH, TEXT, Section, by_form
from smartspider.taskfile.model.values import (
    Count,
    Depth,
    Domain,
    Duration,
    Headers,
    Method,
    Param,
    Pattern,
    Share,
    Text,
    UserAgent,
)

ADAPTIVE = MARK + "adaptive"
_STATUS = Annotated[int, Field(ge=100, le=599)]
_Options = Annotated[dict[str, JsonValue], Field(min_length=1)]


class Scope(Section):
    """Which links belong to the crawl. Default: the host names of the entry URLs."""

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
    max_depth: Depth | None = Field(default=None, description="Links followed from an entry URL at most.")
    same_host: bool = Field(default=False, description="A link must stay on the host of its page.")


class Fetch(Section):
    """How pages are fetched."""

    mode: Literal["http", "browser", "impersonate"] = Field(default="http", description="What fetches.")
    method: Method = Field(default="GET", description="Method of the entry URLs that name none.")
    headers: Headers = Field(
        default={}, description="Sent with every request.", examples=[{"Accept-Language": "en"}]
    )
    timeout_s: float = Field(default=30.0, gt=0, le=3600, description="Seconds for one request in all.")
    max_bytes: int = Field(default=20_000_000, ge=1, le=2_000_000_000, description="Largest body, unpacked.")
    user_agents: list[UserAgent] = Field(
        default=[], description="Instead of the honest one; noted in the audit log."
    )
    proxy_pool: Text | None = Field(default=None, description="Pool the proxies are borrowed from.")
    wait_for: Text | None = Field(default=None, description="Browser: selector to wait for.")
    actions: list[_Options] = Field(default=[], description="Browser: what to do on the page, in order.")


class Politeness(Section):
    """How gently each host is treated. The strictest of all runs wins."""

    robots: Literal["obey", "ignore"] = Field(default="obey", description="robots.txt.")
    delay_s: float = Field(
        default=0.5, ge=0, le=86_400, description="Seconds from start to start on one host; 0 means none."
    )
    rate_per_s: float | None = Field(
        default=None, gt=0, le=100_000, description="Requests per second and host at most."
    )
    per_host: int = Field(default=4, ge=1, le=10_000, description="Requests in flight per host.")
    per_domain: int | None = Field(
        default=None, ge=1, le=10_000, description="Requests in flight per registrable domain."
    )
    adaptive: bool = Field(default=True, description="Slow down when a host is in trouble.")


class Limits(Section):
    """When the run ends before its pages do; null means no limit."""

    max_pages: Count | None = Field(default=None, description="Pages stored.")
    max_items: Count | None = Field(default=None, description="Items stored.")
    max_depth: Depth | None = Field(default=None, description="Links followed from an entry URL.")
    max_duration_s: float | None = Field(
        default=None, gt=0, le=1_000_000_000, description="Seconds the run works."
    )
    max_errors: Count | None = Field(default=None, description="Requests given up.")


class Traps(Section):
    """Bounds that an honest site does not reach."""

    max_url_length: int = Field(default=2048, ge=16, le=100_000, description="Characters of a URL.")
    max_path_segments: int = Field(default=32, ge=1, le=1000, description="Segments of a path.")
    max_repeats: int = Field(default=4, ge=1, le=1000, description="Times one path segment may repeat.")
    max_urls_per_host: Count | None = Field(
        default=None, description="Distinct URLs known per host; null means no limit."
    )
    max_links_per_page: int = Field(
        default=50_000, ge=1, le=1_000_000, description="Links kept of one page, the first ones."
    )


class Retry(Section):
    """How often and when a failed request is tried again."""

    max_attempts: int = Field(default=4, ge=1, le=100, description="Fetches of one request in all.")
    backoff_s: float = Field(default=1.0, ge=0, le=86_400, description="First wait; it doubles each time.")
    max_backoff_s: float = Field(default=300.0, ge=0, le=86_400, description="Longest wait.")
    on_status: list[_STATUS] = Field(
        default=sorted(DEFAULT_ON_STATUS), description="HTTP statuses that are tried again."
    )


class Dedup(Section):
    """What counts as the same request and the same item."""

    urls: Literal["exact", "bloom"] = Field(default="exact", description="How known URLs are remembered.")
    window: Duration | None = Field(
        default=None, description="How long a URL counts as known.", examples=["7d"]
    )
    items: (
        Annotated[
            Annotated[Literal["content"], Tag(TEXT)] | Annotated[list[Text], Field(min_length=1), Tag(LIST)],
            by_form({TEXT: TEXT, LIST: LIST}, "'content' or a list of field names"),
        ]
        | None
    ) = Field(default=None, description="Drop items with the same content, or the same fields.")
    scope: Literal["run", "task"] = Field(default="run", description="Compare within a run or a task.")
    keep: Literal["first", "last"] = Field(default="first", description="Which of two equal items stays.")
    update: list[Text] = Field(
        default=[],
        description="Fields of the item that stays which a later equal one overwrites, such as counters.",
        examples=[["likes", "views"]],
    )
    ignore_params: list[Param] = Field(
        default=[], description="Query parameters that do not tell pages apart.", examples=[["sessionid"]]
    )
    drop_tracking: bool = Field(
        default=True,
        description="Well-known tracking parameters (utm_*, gclid, ...) do not tell pages apart.",
    )


class Adaptive(Section):
    """Bounds of the interval that each page finds for itself."""

    min: Duration = Field(default="1h", description="A page that keeps changing is looked at this often.")
    max: Duration = Field(default="30d", description="A page that never changes is looked at this often.")


class Recrawl(Section):
    """How a later run treats pages that an earlier run of the task has fetched."""

    conditional: bool = Field(
        default=False,
        description="Ask whether a page changed (ETag, Last-Modified); if not, its old rows are taken again.",
    )
    adaptive: Annotated[
        Annotated[bool, Tag(SWITCH)] | Annotated[Adaptive, Tag(ADAPTIVE)],
        by_form({SWITCH: SWITCH, OBJECT: ADAPTIVE}, "true, false or an object with 'min' and 'max'"),
    ] = Field(default=False, description="Visit a page as often as it was seen to change.")


class SinkSection(Section):
    """Where items go besides the built-in result store; every further key is an option of the sink."""

    model_config = ConfigDict(extra="allow", title="Sink")
    __pydantic_extra__: dict[str, JsonValue]

    use: Text = Field(description="Name of the sink.", examples=["webhook"])


class Alerts(Section):
    """When a run that goes wrong is paused or reported."""

    consecutive_failures: Count | None = Field(default=5, description="Failures in a row; null turns it off.")
    failure_rate: Share | None = Field(default=None, description="Share of failed requests.")
    empty_fields: (
        Annotated[
            Annotated[Share, Tag(NUMBER)] | Annotated[list[Text], Field(min_length=1), Tag(LIST)],
            by_form({NUMBER: NUMBER, LIST: LIST}, "a share between 0 and 1 or a list of field names"),
        ]
        | None
    ) = Field(default=None, description="Share of empty values, or fields that must not turn empty.")
    action: Literal["pause", "notify"] = Field(default="pause", description="What happens then.")


class Archive(Section):
    """What is kept of the pages themselves."""

    warc: bool = Field(default=False, description="Write the answers to WARC files.")
