"""Fetch pages for one command: politely, with robots.txt read once, each request reported on demand."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from smartspider.core.errors import (
    ConnectFailed,
    FetchFailed,
    NameNotResolved,
    ProxyFailed,
    TimedOut,
    TlsFailed,
)
from smartspider.core.pages.page import Page
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.runs.plan import Plan
from smartspider.engine.permits import GatePermit
from smartspider.installation.settings import read_settings
from smartspider.interfaces.secret_source import OWN_COMMAND
from smartspider.services.secrets import read_secrets
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import apply_overrides, parse_task
from smartspider.wiring.fetch_page import FetchContext, check_url, entry_layers, fetch_with
from smartspider.wiring.opening import open_folder
from smartspider.wiring.shared_gates import PreviewGate

FetchUrl = Callable[[str], Coroutine[Any, Any, Page]]

HINTS: tuple[tuple[type[FetchFailed], str], ...] = (
    (NameNotResolved, "check the host name; is this machine online?"),
    (ConnectFailed, "check that the site is up, and the port of the URL"),
    (TlsFailed, "check the certificate of the site; http:// works without one, if the site allows it"),
    (TimedOut, "the site is slow or does not answer; try again later"),
    (ProxyFailed, "check SMARTSPIDER_PROXY"),
    (FetchFailed, "try again later; `-v` shows each request"),
)
"""Hints for failed fetches that have none; the first match wins."""
_FETCH_KEYS = ("fetch", "politeness")
"""The sections of a task that decide how a page is fetched."""


def command_plan(url: str, headers: Mapping[str, str] = {}, settings: Sequence[str] = ()) -> Plan:
    """Return the plan by which a command fetches a URL: with headers, and with those overrides
    (`a.b=JSON`) that concern fetching. Raise `RequestInvalid` or `TaskInvalid`.
    """
    document: dict[str, Any] = {"name": "command", "entry_urls": [{"urls": [check_url(url)]}]}
    if headers:
        document["fetch"] = {"headers": dict(headers)}
    about_fetching = [one for one in settings if one.strip().partition("=")[0].split(".")[0] in _FETCH_KEYS]
    return compile_task(parse_task(apply_overrides(document, about_fetching)))


@asynccontextmanager
async def command_fetcher(
    plan: Plan, *, obey_robots: bool = True, report: Callable[[str], object] | None = None
) -> AsyncIterator[FetchUrl]:
    """Return a function that fetches URLs for one command, which was given the entry of a plan: its private
    address is allowed, and credentials go to its origin only. Requests pass the gates of all crawls of this
    machine, and robots.txt is read once; nothing is stored.

    The function raises `FetchFailed` with a hint.
    """
    settings, entries = read_settings(), tuple(entry.url for entry in plan.entries)
    with (
        tempfile.TemporaryDirectory(prefix="smartspider-fetch-") as path,
        open_folder(Path(path), settings=settings) as folder,
    ):
        gate = PreviewGate(folder.permits)
        secrets = await read_secrets(folder.secrets, plan, OWN_COMMAND)
        context = FetchContext(
            settings,
            folder.policy_for(plan),
            folder.clock,
            lambda host: GatePermit(gate, folder.clock, host, None, others=folder.other_crawls),
            folder.store if obey_robots and plan.politeness.obey_robots else None,
            secrets,
            trust=OriginTrust(entries, named=plan.fetch.send_secrets_to),
            layers=entry_layers(plan, secrets),
            report=report,
        )

        async def fetch(url: str) -> Page:
            try:
                return await fetch_with(context, url, plan.fetch.of_page(plan.entries[0].page))
            except FetchFailed as error:
                error.hint = error.hint or next(hint for kind, hint in HINTS if isinstance(error, kind))
                raise

        yield fetch
