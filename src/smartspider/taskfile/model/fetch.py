"""Fetching of pages: `fetch` of a task, and `pages.NAME.fetch`, which overrides it for a page type."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue
from pydantic.config import JsonDict

from smartspider.plugins.kinds import TRANSPORT
from smartspider.plugins.registry import known
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.values import Headers, Method, Origin, Text, UserAgent

MODES = ("http", "browser", "impersonate")
"""Modes that every version knows, built or not."""


def fetch_modes() -> list[str]:
    """Return the modes a task may name: those of every version, and those of installed packages."""
    return list(dict.fromkeys((*MODES, *known(TRANSPORT))))


def _list_modes(schema: JsonDict) -> None:
    schema["enum"] = [*fetch_modes()]


Mode = Annotated[Text, Field(json_schema_extra=_list_modes)]
Timeout = Annotated[float, Field(gt=0, le=3600)]
BodySize = Annotated[int, Field(ge=1, le=2_000_000_000)]
_Options = Annotated[dict[str, JsonValue], Field(min_length=1)]


class Fetch(Section):
    """Fetching of pages."""

    mode: Mode = Field(default="http", description="Plain HTTP, a browser, or impersonation.")
    method: Method = Field(default="GET", description="Method of entry URLs without their own.")
    headers: Headers = Field(
        default={},
        description="Sent with every page request. Headers that may hold secrets, which are all except"
        " well-known harmless ones, are sent to the origins of entry URLs only.",
        examples=[{"Accept-Language": "en"}],
    )
    send_secrets_to: list[Origin] = Field(
        default=[],
        description="Further origins that headers and bodies with secrets are sent to.",
        examples=[["https://api.example.com"]],
    )
    cookies: bool = Field(
        default=True, description="Keep the cookies that sites set for the run, and send them back."
    )
    timeout_s: Timeout = Field(default=30.0, description="Total timeout of a request in seconds.")
    max_bytes: BodySize = Field(default=20_000_000, description="Maximum decompressed body size.")
    user_agents: list[UserAgent] = Field(
        default=[], description="Sent instead of the default; recorded in the audit log."
    )
    proxy_pool: Text | None = Field(
        default=None, description="Send requests through proxies of this pool (`proxy add --pool`)."
    )
    wait_for: Text | None = Field(default=None, description="Selector that the browser waits for.")
    actions: list[_Options] = Field(default=[], description="Browser: actions on the page, in order.")


class PageFetch(Section):
    """Fetching of pages of one type. A key that is not set has the value of the task's `fetch`."""

    mode: Mode | None = Field(default=None, description="Plain HTTP, a browser, or impersonation.")
    method: Method | None = Field(
        default=None, description="Method of entry URLs and links of this type without their own."
    )
    headers: Headers = Field(
        default={},
        description="Sent with requests of this type, in addition to the task's; the same name replaces.",
        examples=[{"Accept": "application/json"}],
    )
    timeout_s: Timeout | None = Field(default=None, description="Total timeout of a request in seconds.")
    max_bytes: BodySize | None = Field(default=None, description="Maximum decompressed body size.")
    user_agents: list[UserAgent] = Field(
        default=[], description="Sent instead of the task's; recorded in the audit log."
    )
    proxy_pool: Text | None = Field(
        default=None, description="Send requests through proxies of this pool (`proxy add --pool`)."
    )
    wait_for: Text | None = Field(default=None, description="Selector that the browser waits for.")
    actions: list[_Options] = Field(default=[], description="Browser: actions on the page, in order.")
