"""A preview process: `python -m smartspider.wiring.preview.preview_process`, request on stdin.

A hostile page or expression may use unlimited time or memory; here it uses that of one preview.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from smartspider.core.cookies.jar import Cookie, CookieJar
from smartspider.core.errors import RequestInvalid, SmartSpiderError, TimedOut
from smartspider.core.pages.page import Page
from smartspider.core.requests.origins import OriginTrust
from smartspider.core.runs.plan import Plan
from smartspider.engine.cookies.given import GivenCookies
from smartspider.engine.permits import GatePermit
from smartspider.engine.runtime import SystemClock, die_with_parent
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, read_settings
from smartspider.interfaces.secret_source import NOBODY, SecretUse
from smartspider.services.preview.preview import Preview
from smartspider.services.preview.rules import RuleResult, apply_rules
from smartspider.services.preview.suggesting import find_candidates, suggestions_view
from smartspider.services.secrets import read_secrets
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.views.preview import SuggestionsView
from smartspider.views.problem import Wrong, wrongs
from smartspider.wiring.fetch_page import FetchContext, entry_layers, fetch_with
from smartspider.wiring.opening import open_installation
from smartspider.wiring.preview.task_preview import preview_task
from smartspider.wiring.processes.lifecycle import run_loop
from smartspider.wiring.shared_gates import PreviewGate, share_gates

MAX_MEMORY = 2 << 30


class PreviewRequest(msgspec.Struct, frozen=True):
    """The first `pages` of a task, one URL with the rules of a task, or one URL to suggest tasks for, fetched
    as the task says.
    """

    kind: Literal["task", "page", "suggest"]
    folder: str
    environment: dict[str, str]
    """The settings of the preview, as environment variables."""
    task: Any
    time_limit_s: float
    url: str = ""
    pages: int = 1
    cookie_domain: str = ""
    cookies: bytes = b""
    """Borrowed cookies for that domain, as MessagePack."""


class PagePreview(msgspec.Struct, frozen=True):
    """A fetched page, and what the rules extracted."""

    url: str
    status: int
    result: RuleResult


class PreviewError(msgspec.Struct, frozen=True):
    """An error, by the name of its class."""

    name: str
    message: str
    hint: str
    problems: list[Wrong]


class PreviewAnswer(msgspec.Struct, frozen=True):
    """The answer; one of the fields is set."""

    task: Preview | None = None
    page: PagePreview | None = None
    suggestions: SuggestionsView | None = None
    error: PreviewError | None = None
    cookies: bytes = b""
    """The borrowed cookies that the site changed, as MessagePack."""


async def answer(request: PreviewRequest) -> PreviewAnswer:
    """Run a preview; errors are part of the answer."""
    given = None
    if request.cookie_domain:
        cookies = msgspec.msgpack.decode(request.cookies, type=list[Cookie])
        given = GivenCookies(request.cookie_domain, cookies, SystemClock())
    found = await _answer(request, given)
    changes = () if given is None else given.changes()
    return msgspec.structs.replace(found, cookies=msgspec.msgpack.encode(changes)) if changes else found


async def _answer(request: PreviewRequest, given: GivenCookies | None) -> PreviewAnswer:
    try:
        async with asyncio.timeout(request.time_limit_s):
            async with open_installation(Path(request.folder), settings_of(request)) as installation:
                if request.kind == "page":
                    return PreviewAnswer(page=await _preview_page(request, installation, given))
                if request.kind == "suggest":
                    return PreviewAnswer(suggestions=await _suggest(request, installation, given))
                return PreviewAnswer(task=await _preview_task(request, installation, given))
    except TimeoutError:
        return PreviewAnswer(error=_error(preview_timeout(request.time_limit_s)))
    except SmartSpiderError as error:
        return PreviewAnswer(error=_error(error))


def settings_of(request: PreviewRequest) -> Settings:
    """Return the settings of a request; the process has no other."""
    return read_settings(request.environment, Path(request.folder) / "none")


def preview_timeout(time_limit_s: float) -> TimedOut:
    """Return the error for a preview that exceeds its time limit."""
    return TimedOut(
        f"the preview took more than {time_limit_s:g} s",
        hint="the site is slow, or its gate is closed for a while; fewer pages take less time",
    )


async def _preview_page(
    request: PreviewRequest, installation: Installation, given: GivenCookies | None
) -> PagePreview:
    plan = compile_task(parse_task(request.task))
    context = await _fetch_context(installation, plan, given)
    page: Page = await fetch_with(context, request.url, plan.fetch.of_page(plan.entries[0].page))
    return PagePreview(page.url, page.status, apply_rules(request.task, page))


async def _suggest(
    request: PreviewRequest, installation: Installation, given: GivenCookies | None
) -> SuggestionsView:
    plan = compile_task(parse_task(request.task))
    trust = OriginTrust([plan.entries[0].url], named=plan.fetch.send_secrets_to)
    context = msgspec.structs.replace(await _fetch_context(installation, plan, given), trust=trust)
    fetch = partial(fetch_with, context, plan=plan.fetch)
    page, found = await find_candidates(request.url, fetch, None)
    return suggestions_view(page, found, request.url, dict(plan.fetch.headers))


async def _fetch_context(installation: Installation, plan: Plan, given: GivenCookies | None) -> FetchContext:
    """Return the context of a fetch through the gates that all runs share."""
    gate, others = PreviewGate(installation.permits), installation.other_crawls
    secrets = await read_secrets(installation.secrets, plan, SecretUse(NOBODY))
    return FetchContext(
        installation.settings,
        installation.policy,
        installation.clock,
        lambda host: GatePermit(gate, installation.clock, host, None, others=others),
        installation.store,
        secrets,
        layers=entry_layers(plan, secrets),
        cookies=None if given is None else given.beside(CookieJar(installation.clock.now)),
    )


async def _preview_task(
    request: PreviewRequest, installation: Installation, given: GivenCookies | None
) -> Preview:
    plan = compile_task(parse_task(request.task))
    once = msgspec.structs.replace(plan.retry, max_attempts=1)  # a person waits for the answer
    plan = msgspec.structs.replace(plan, retry=once)
    return await preview_task(
        plan,
        installation.settings,
        limit=request.pages,
        is_server=True,
        gated=lambda own: share_gates(own, installation),
        given=given,
    )


def _error(error: SmartSpiderError) -> PreviewError:
    wrong = wrongs(error.problems) if isinstance(error, RequestInvalid) else []
    return PreviewError(type(error).__name__, error.message, error.hint, wrong)


def main() -> int:
    """Run the process."""
    die_with_parent()
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=PreviewRequest)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    sys.stdout.buffer.write(msgspec.json.encode(run_loop(answer(request)), enc_hook=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
