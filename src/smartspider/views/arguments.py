"""Keyword arguments that several operations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.logs import LEVELS
from smartspider.core.runs.run import RunState
from smartspider.core.schedules import MAX_INTERVAL_S, MAX_RETRY_DELAY_S, Overlap
from smartspider.core.tasks import TaskOrder
from smartspider.views.params import Param, body, query

MAX_CONDITIONS = 10
_FINITE = {"allow_inf_nan": False}


class ScheduleArguments(TypedDict, total=False):
    """When a schedule is due: one of `cron`, `every_s` and `at`; and its policies for late
    and failed runs.
    """

    cron: Annotated[
        str | None, body("5 fields, 6 with seconds, or a nickname such as @daily.", max_length=200)
    ]
    every_s: Annotated[float | None, body("Seconds between two starts.", ge=1, le=MAX_INTERVAL_S, **_FINITE)]
    at: Annotated[
        str | None, body("A single time (ISO 8601), in `timezone` if it has no offset.", max_length=64)
    ]
    timezone: Annotated[str | None, body("An IANA time zone; default UTC.", max_length=64)]
    misfire: Annotated[
        Literal["skip", "once", "all"] | None,
        body("Handling of missed starts, however late: skip, run once, or run all."),
    ]
    misfire_s: Annotated[
        float | None,
        body("Maximum delay of a start, in seconds; default 300.", ge=0, le=MAX_INTERVAL_S, **_FINITE),
    ]
    coalesce: Annotated[
        bool | None, body("If several starts were missed, run only the last one; default true.")
    ]
    overlap: Annotated[
        bool | Overlap | None,
        body("While the previous run is unfinished: skip (default), queue, allow, or cancel that run."),
    ]
    jitter_s: Annotated[float | None, body("Start up to this many seconds later.", ge=0, le=3600, **_FINITE)]
    retries: Annotated[int | None, body("Maximum number of retries of a failed run.", ge=0, le=20)]
    retry_delay_s: Annotated[
        float | None, body("Seconds before a retry; default 300.", ge=0, le=MAX_RETRY_DELAY_S, **_FINITE)
    ]


class TaskArguments(TypedDict, total=False):
    """Conditions on tasks, all of which must hold, and the order of the list."""

    name: Annotated[
        str,
        Param(about="Tasks whose name starts with this, by name.", rules={"max_length": 100}, default=""),
    ]
    q: Annotated[str | None, query("Tasks with this in their name, in upper or lower case.", max_length=100)]
    owner: Annotated[str | None, query("Tasks of this owner.", min_length=1, max_length=80)]
    state: Annotated[RunState | None, query("Tasks whose newest run is in this state.")]
    sort: Annotated[TaskOrder | None, query("By time of creation or by name; with `-`, the last one first.")]


Levels = Annotated[
    str | Sequence[str] | None,
    Param(
        about=f"Minimum level: {', '.join(LEVELS)}. Given more than once: exactly these levels.",
        wire=list[str],
        rules={"max_length": len(LEVELS)},
        items={"max_length": 20},
        examples=("warning",),
        default=(),
    ),
]


class LogConditions(TypedDict, total=False):
    """Conditions on log lines besides their time; all that are given must match."""

    level: Levels
    host: Annotated[str | None, query("Lines about this host.", max_length=200)]
    url: Annotated[str | None, query("Lines about this URL, as they show it.", max_length=2000)]
    error: Annotated[str | None, query("Lines with this error type, such as `timeout`.", max_length=200)]
    worker: Annotated[str | None, query("Lines of this worker or process.", max_length=200)]
    text: Annotated[str | None, query("All of these words in the text or the URL.", max_length=500)]


class LogArguments(LogConditions, total=False):
    """Filters for log lines; all that are given must match."""

    since: Annotated[
        str | None, query("Only lines since this time: ISO 8601, or Unix time in seconds.", max_length=40)
    ]
    until: Annotated[
        str | None, query("Only lines up to this time: ISO 8601, or Unix time in seconds.", max_length=40)
    ]


class PageArguments(TypedDict, total=False):
    """Filters for requests of a run; all that are given must match."""

    state: Annotated[UrlState | None, query("Only requests in this state.")]
    cause: Annotated[CauseCode | None, query("Only requests that did not succeed for this cause.")]
    host: Annotated[str | None, query("Only requests to this host.", max_length=300)]
    status: Annotated[int | None, query("Only answers with this HTTP status.", ge=100, le=999)]
    page: Annotated[str | None, query("Only requests of this page type.", max_length=200)]
    q: Annotated[str | None, query("Only URLs that contain this text, in any case.", max_length=500)]


class FailureArguments(TypedDict, total=False):
    """The failed requests to retry; all that are given must match."""

    cause: Annotated[CauseCode | None, body("Only requests that failed for this cause.")]
    host: Annotated[str | None, body("Only requests to this host.", max_length=300)]
    page_ids: Annotated[
        Sequence[str] | None,
        Param(
            about="Only these requests, by their ids.",
            place="body",
            wire=list[str] | None,
            rules={"max_length": 1000},
            items={"max_length": 40},
        ),
    ]


class RunArguments(TypedDict, total=False):
    """The run whose rows are meant: `run_id`, or the newest run of `task_id`."""

    task_id: Annotated[str | None, query("The id or name of a task; its newest run is used.", max_length=200)]
    run_id: Annotated[str | None, query("The id of a run.", max_length=40)]


Where = Annotated[
    str | Sequence[str],
    Param(
        about="A condition on rows: `field=value`, `field!=value`, `field<3`, `<=`, `>`, `>=`, `field~part` "
        "(part of a text, or an element of a list) or `field?` (not null). A field may be a path: "
        "`tags[0]`, `seller.name`. Repeated conditions are combined with AND.",
        wire=list[str],
        rules={"max_length": MAX_CONDITIONS},
        # All parameters at their longest, percent-encoded, fit into the 64 KB of a request line.
        items={"max_length": 250},
        examples=("price>=10",),
        default=(),
    ),
]
Fields = Annotated[str | None, query("Only these fields, in this order: `a,b`.", max_length=1500)]


class FileArguments(TypedDict, total=False):
    """The content and the format of a file of rows."""

    compression: Annotated[str | None, query("gz, zst, bz2 or xz, for text formats.", max_length=40)]
    where: Where
    fields: Fields
    only_changes: Annotated[
        bool,
        Param(
            about="Only rows that are new or changed since the last completed run of the task.",
            default=False,
        ),
    ]
    envelope: Annotated[bool, Param(about="Add url, run, fingerprint and time to every row.", default=False)]
    excel: Annotated[
        bool,
        Param(about="Write CSV for spreadsheets: UTF-8 byte order mark, formulas escaped.", default=False),
    ]
    delimiter: Annotated[
        str,
        Param(
            about="The CSV delimiter: one of , ; | : ^ ~ # or `tab`.",
            default=",",
            rules={"max_length": 10},
        ),
    ]


class ExportArguments(RunArguments, FileArguments, total=False):
    """The run to export, and how."""
