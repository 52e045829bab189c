"""Previews for the API: a few at a time for each user, each in a process of its own; nothing is stored."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.core import errors
from smartspider.core.requests.secrets import references_in
from smartspider.installation.settings import PREFIX, VARIABLE, Settings
from smartspider.interfaces.secret_source import SecretUse
from smartspider.services.fair_limit import FairLimit, SlotLimits
from smartspider.services.identities.proxies import open_one
from smartspider.services.preview.preview import Preview
from smartspider.wiring.preview.preview_cookies import borrowed_cookies

if TYPE_CHECKING:
    from smartspider.installation.installation import Installation
    from smartspider.views.preview import SuggestionsView
    from smartspider.wiring.preview.preview_process import (
        PagePreview,
        PreviewAnswer,
        PreviewError,
        PreviewRequest,
    )


class PreviewLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of previews: how many, how long and how large."""

    slots: SlotLimits = SlotLimits(total=4, waiting=16, retry_after_s=10.0)
    time_limit_s: float = 30.0
    grace_s: float = 3.0
    """Extra time for a process that cannot stop by itself, because an expression does not end."""
    max_answer_bytes: int = 16 << 20


class Previews:
    """Previews of an installation, a bounded number at a time and for each user; `holder` is the user."""

    def __init__(self, installation: Installation, limits: PreviewLimits = PreviewLimits()) -> None:
        self._installation, self._limits = installation, limits
        self.slots = FairLimit("previews", limits.slots)

    async def preview_task(self, spec: bytes, pages: int, holder: str) -> Preview:
        """Fetch and extract the first pages of a task as a crawl would."""
        answer = await self._run(holder, kind="task", task=msgspec.json.decode(spec), pages=pages)
        assert answer.task is not None  # noqa: S101 - the answer to a request of this kind
        return answer.task

    async def preview_page(self, url: str, task: dict[str, Any], holder: str) -> PagePreview:
        """Fetch a page and extract it with the rules of a task."""
        answer = await self._run(holder, kind="page", task=task, url=url)
        assert answer.page is not None  # noqa: S101 - the answer to a request of this kind
        return answer.page

    async def suggest(self, url: str, task: dict[str, Any], holder: str) -> SuggestionsView:
        """Suggest tasks for a page, fetched as a task says."""
        answer = await self._run(holder, kind="suggest", task=task, url=url)
        assert answer.suggestions is not None  # noqa: S101 - the answer to a request of this kind
        return answer.suggestions

    async def _run(self, holder: str, **what: Any) -> PreviewAnswer:
        from smartspider.wiring.preview.preview_process import PreviewRequest

        names = set(references_in(what["task"]))
        use = SecretUse(holder, f"preview of {holder}")
        secrets = await self._installation.secrets.find(names, use) if names else {}
        what["task"], pools = _without_pools(what["task"])
        settings = self._installation.settings
        if pools:
            url = await open_one(self._installation, pools, opened_by=use.opened_by)
            settings = msgspec.structs.replace(settings, proxy=url)
        async with (
            self.slots.turn(holder),
            borrowed_cookies(self._installation.vault, what["task"], what.get("url"), use) as cookies,
        ):
            request = PreviewRequest(
                folder=str(self._installation.path),
                environment=_environment(settings, secrets),
                time_limit_s=self._limits.time_limit_s,
                cookie_domain=cookies.domain,
                cookies=cookies.content,
                **what,
            )
            answer = await _answer(request, self._limits)
            await cookies.store(answer.cookies)
        if answer.error is not None:
            raise _error(answer.error)
        return answer


async def _answer(request: PreviewRequest, limits: PreviewLimits) -> PreviewAnswer:
    """Run a preview process; it is killed when it takes too long or its caller is cancelled."""
    from smartspider.wiring.preview.preview_process import PreviewAnswer, preview_timeout

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "smartspider.wiring.preview.preview_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if not name.startswith("SMARTSPIDER_")},
    )
    try:
        async with asyncio.timeout(request.time_limit_s + limits.grace_s):
            output = await _communicate(process, msgspec.json.encode(request), limits.max_answer_bytes)
            await process.wait()
        return msgspec.json.decode(output, type=PreviewAnswer)
    except TimeoutError:
        raise preview_timeout(request.time_limit_s) from None
    except (msgspec.DecodeError, ConnectionError):
        raise errors.NotReadable(
            "the preview process ended without a result",
            hint="the page or its rules may need too much memory",
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):  # not by `process.kill`, which may reap it before asyncio does
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()


async def _communicate(process: asyncio.subprocess.Process, request: bytes, max_bytes: int) -> bytes:
    assert process.stdin is not None  # noqa: S101 - piped
    assert process.stdout is not None  # noqa: S101 - piped
    process.stdin.write(request)
    process.stdin.close()
    output = bytearray()
    while piece := await process.stdout.read(1 << 16):
        output += piece
        if len(output) > max_bytes:
            raise errors.TooLarge("the pages hold too much to preview", hint="preview fewer pages")
    return bytes(output)


def _without_pools(task: Any) -> tuple[Any, list[str]]:
    """Return a task without its proxy pools, and their names: the preview process has no key to open them."""
    if not isinstance(task, dict):
        return task, []
    pools: list[str] = []

    def taken(section: Any) -> Any:
        own = section.get("fetch") if isinstance(section, dict) else None
        if not isinstance(own, dict) or not isinstance(own.get("proxy_pool"), str):
            return section
        pools.append(own["proxy_pool"])
        return {**section, "fetch": {key: value for key, value in own.items() if key != "proxy_pool"}}

    task = taken(task)
    pages = task.get("pages")
    if isinstance(pages, dict):
        task = {**task, "pages": {name: taken(page) for name, page in pages.items()}}
    return task, pools


def _environment(settings: Settings, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a preview needs: no secret but the address of a cluster and the secrets that
    its task may use.
    """
    names = ["allow_private", "contact", "proxy", "gates_folder"]
    names += ["store_url", "frontier_url"] if settings.is_cluster else []
    variables = {f"{VARIABLE}{name}": value for name, value in secrets.items()}
    return {f"{PREFIX}{name.upper()}": getattr(settings, name) for name in names} | variables


def _error(failed: PreviewError) -> errors.SmartSpiderError:
    kind: type[errors.SmartSpiderError] = getattr(errors, failed.name, errors.SmartSpiderError)
    if issubclass(kind, errors.RequestInvalid):
        problems = tuple(errors.Problem(one.path, one.message, one.hint) for one in failed.problems)
        return kind(failed.message, problems, hint=failed.hint)
    error: errors.SmartSpiderError = kind(failed.message, hint=failed.hint)
    return error
