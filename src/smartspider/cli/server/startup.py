"""Shared by the commands that start processes: options, the first token, addresses and notes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.crawl.fetch_options import print_gates_note
from smartspider.cli.terminal.output import print_json_line, print_message
from smartspider.core.workers.worker import WorkerRange

if TYPE_CHECKING:
    import socket

CHECK_S = 5.0
"""Time limit of the readiness check."""
FIRST_TOKEN = "token of the first admin (shown only once)"  # noqa: S105 - a label


class WorkerRangeType(click.ParamType[WorkerRange]):
    """A number of processes or a range such as 1-8."""

    name = "N|N-M"

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum, self._maximum = minimum, maximum

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> WorkerRange:
        """Return a range; both ends of a single number are the same."""
        if isinstance(value, WorkerRange):
            return value
        first, dash, last = str(value).strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdecimal() and len(end) < 7 for end in ends):
            self.fail(f"{value!r} is not a number or a range such as 1-8", param, ctx)
        found = WorkerRange(int(ends[0]), int(ends[1]))
        minimum = 0 if dash else self._minimum
        if found.minimum > found.maximum:
            self.fail(f"{value!r}: the lower bound comes first: {ends[1]}-{ends[0]}", param, ctx)
        is_within = minimum <= found.minimum and found.maximum <= self._maximum
        if not is_within or not (found.maximum or self._minimum == 0):
            self.fail(f"{value!r} is not between {minimum} and {self._maximum}", param, ctx)
        return found


def announce(values: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Print the address of a process as one JSON line, or `text` as a message."""
    if as_json:
        print_json_line(values)
        sys.stdout.flush()
    else:
        print_message(text)


def server_url(listener: socket.socket) -> str:
    """Return the URL of a server that listens on a socket."""
    from smartspider.installation.settings import read_settings

    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 - compared
    return f"{'https' if read_settings().tls_cert else 'http'}://{shown}:{port}"


async def first_secrets(path: Path) -> tuple[str | None, str | None]:
    """Return the token of the first admin, who is created at the first start and has None later, and the
    secret of a sign-in link; None if the store has no room for it.
    """
    from smartspider.core.errors import StoreUnavailable
    from smartspider.installation.settings import read_settings
    from smartspider.services.access.access import build_access, create_first_admin
    from smartspider.wiring.opening import check_not_moved, open_installation

    check_not_moved(path)
    link = None
    async with open_installation(path, read_settings(), "api") as installation:
        token = await create_first_admin(installation)
        with suppress(StoreUnavailable):
            link = await build_access(installation).browser_sessions.create_link()
    return token, link


def console_url(url: str, link: str | None) -> str:
    """Return the address of the console, as a link that signs in if there is a secret for it."""
    return f"{url}/sign-in#link={link}" if link else f"{url}/"


def console_line(console: str) -> str:
    """Return the line that shows the address of the console."""
    note = " (signs in once, within 10 minutes)" if "#" in console else ""
    return f"the console is at {console}{note}"


async def warn_missing(path: Path, *, has_keeper: bool = False) -> None:
    """Print a note for each problem that keeps the workers of a cluster from getting requests, or those of a
    data folder from sharing the gates of hosts.

    With `has_keeper` a keeper is starting, so a missing leader is no problem. An unavailable store prints
    nothing: the process reports it itself.
    """
    from smartspider.core.errors import StoreUnavailable
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.opening import open_installation

    settings = read_settings()
    if not settings.is_cluster:
        print_gates_note()
        return
    from smartspider.wiring.checks import cluster_problems, frontier_problems

    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(CHECK_S), open_installation(path, settings) as installation:
            for problem in await (frontier_problems if has_keeper else cluster_problems)(installation):
                print_message(f"note: {problem}")
