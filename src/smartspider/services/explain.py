"""Explain why a URL was fetched or not, from its stored record or the rule that excludes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import unquote_plus

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import RequestInvalid
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.pages.files import FILE_PAGE
from smartspider.core.plurals import count
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.requests.refusal import Refusal
from smartspider.core.requests.request import fingerprint, request_identity
from smartspider.core.requests.scope import TrapGuards, UrlScope, url_refusal
from smartspider.core.requests.urls import (
    CanonicalRules,
    canonical_url,
    host_of,
    normal_url,
    origin_of,
)
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import UNFINISHED, Run
from smartspider.fetch.robots_file import RobotsFile
from smartspider.installation.installation import Installation
from smartspider.services.identities.proxies import PooledUrls, pooled_urls
from smartspider.services.plans import run_plan
from smartspider.services.runs.lookup import find_run
from smartspider.store.diagnostics.requests import RequestDetails, SendRecord
from smartspider.store.diagnostics.store import Diagnostics
from smartspider.store.runs.records import UrlRecord
from smartspider.views.explain import (
    AttemptView,
    DedupView,
    DroppedParam,
    ExplanationView,
    GateView,
    LeaseView,
    RecordView,
    RobotsView,
    ScopeView,
    SentView,
    UsedProxyView,
)
from smartspider.views.left_out import LeftOutLinkView

PARAMS_SHOWN = 50
NO_ROBOTS = RobotsView(is_obeyed=True, is_allowed=None, line=None, status=None, fetched_at=None)
NO_PROXIES: PooledUrls = {}


class ExplainedUrl(msgspec.Struct, frozen=True):
    """A URL in its normal and its canonical form."""

    normal: str
    canonical: str

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint of a plain request for it."""
        return fingerprint(self.canonical)


async def explain_url(
    installation: Installation, url: str, run_id: int | None, holder: str = ""
) -> ExplanationView:
    """Explain a URL in the given run or the newest one."""
    return await explain_in_run(installation, await find_run(installation, run_id), url, holder)


async def explain_in_run(
    installation: Installation, run: Run, url: str, holder: str = "", first: RequestDetails | None = None
) -> ExplanationView:
    """Explain a URL in a run; `first` is the request that is meant, if there are several."""
    plan = await installation.offload.run(run_plan, run, holder=holder)
    robots = await _robots(installation, url, is_obeyed=plan.politeness.obey_robots, holder=holder)
    refuse = partial(installation.offload.run, url_refusal, holder=holder)
    explained = partial(explain, installation.diagnostics, run, plan, url, robots)
    return await explained(refuse=refuse, first=first, proxies=await pooled_urls(installation, plan))


async def _robots(installation: Installation, url: str, *, is_obeyed: bool, holder: str) -> RobotsView:
    """Return what the stored robots.txt says about a URL."""
    normal = normal_url(url)
    answer = await installation.store.get_robots(origin_of(normal)) if normal else None
    if normal is None or answer is None:
        return RobotsView(is_obeyed, is_allowed=None, line=None, status=None, fetched_at=None)
    fetched_at = format_time(answer.fetched_at)
    if answer.body is None:  # without a robots.txt everything is allowed
        return RobotsView(is_obeyed, is_allowed=True, line=None, status=answer.status, fetched_at=fetched_at)
    is_allowed, line = await installation.offload.run(_robots_decision, answer.body, normal, holder=holder)
    return RobotsView(is_obeyed, is_allowed, line, answer.status, fetched_at)


def _robots_decision(body: bytes, url: str) -> tuple[bool, str | None]:
    file = RobotsFile(body)
    return file.allows(url), file.deciding_line(url)


Refuse = Callable[[UrlScope, TrapGuards, str, str], Awaitable[Refusal | None]]
"""Returns why a URL must not become a request. The patterns of a task decide it, which may take a while."""


async def _refuse_here(scope: UrlScope, traps: TrapGuards, url: str, canonical: str) -> Refusal | None:
    return url_refusal(scope, traps, url, canonical)


async def explain(
    diagnostics: Diagnostics,
    run: Run,
    plan: Plan,
    url: str,
    robots: RobotsView = NO_ROBOTS,
    *,
    refuse: Refuse = _refuse_here,
    first: RequestDetails | None = None,
    proxies: PooledUrls = NO_PROXIES,
) -> ExplanationView:
    """Explain a URL in a run. `robots` is what robots.txt says about it, `first` the request meant, `proxies`
    the URLs of those that it may have gone through.
    """
    target = _parse_url(url, plan)
    found = await diagnostics.requests(run.id, _fingerprints(target, plan), target.normal)
    if first is not None:
        found = [first, *(one for one in found if one.record.id != first.record.id)]
    scope = ScopeView(is_inside=True, why="an entry URL of the task")
    if not any(request.is_entry for request in found):
        host = host_of(target.normal)
        visited = [host] if await diagnostics.has_visited(run.id, host) else []
        scope_now = plan.scope.with_hosts(visited)
        refusal = await refuse(scope_now, plan.traps, target.normal, target.canonical)
        scope = ScopeView(refusal is None, refusal.detail if refusal else "inside the scope of the task")
    request = found[0] if found else None
    left_out = None if found else await _left_out(diagnostics, run, target)
    return ExplanationView(
        url=without_userinfo(target.normal),
        canonical=without_userinfo(target.canonical),
        fingerprint=target.fingerprint.hex(),
        run_id=str(run.id),
        task_id=str(run.task_id),
        task=run.task_name,
        run_state=run.state,
        verdict=_verdict(request, left_out, robots)
        or _unknown_verdict(run, scope, robots, is_cut=(await diagnostics.left_out(run.id)).is_cut),
        dedup=_dedup(target, plan.canonical, request),
        scope=scope,
        robots=robots,
        gate=None if request is None else gate_view(request),
        record=None if request is None else record_view(request, plan, proxies),
        others=[record_view(other, plan, proxies) for other in found[1:]],
        left_out=left_out,
    )


def _fingerprints(target: ExplainedUrl, plan: Plan) -> list[bytes]:
    """Return the fingerprints of the page with a URL, and of the files that steps download from it."""
    files = [page.name for page in plan.pages.values() if page.file is not None]
    careful = canonical_url(target.normal, plan.canonical._replace(keep_doubtful=True))
    own = dict.fromkeys((target.fingerprint, fingerprint(careful)))
    return [*own, *(request_identity(target.canonical, page=name) for name in files)]


def _parse_url(url: str, plan: Plan) -> ExplainedUrl:
    normal = normal_url(url)
    if normal is None:
        raise RequestInvalid(
            f"{url[:200]!r} is not an http or https URL", hint="write it with its scheme: https://..."
        )
    return ExplainedUrl(normal, canonical_url(normal, plan.canonical))


def _dedup(target: ExplainedUrl, rules: CanonicalRules, request: RequestDetails | None) -> DedupView:
    known_as = None if request is None or request.record.url == target.normal else request.record.url
    return DedupView(
        canonical=without_userinfo(target.canonical),
        fingerprint=target.fingerprint.hex(),
        dropped_params=dropped_params(target.normal, rules),
        is_known=request is not None,
        known_as=known_as and without_userinfo(known_as),
    )


def dropped_params(normal: str, rules: CanonicalRules) -> list[DroppedParam]:
    """Return the query parameters that the canonical form drops, each once with the rule."""
    parts = normal.partition("?")[2].split("&")
    names = dict.fromkeys(
        part.partition("=")[0] for part in parts if part and "?" not in canonical_url(f"x?{part}", rules)
    )
    return [DroppedParam(unquote_plus(name), _rule_of(name, rules)) for name in list(names)[:PARAMS_SHOWN]]


def _rule_of(name: str, rules: CanonicalRules) -> str:
    if name in rules.ignore_params:
        return "dedup.ignore_params"
    is_session_id = "?" in canonical_url(f"x?{name}", CanonicalRules(drop_session_ids=False))
    return "session id" if is_session_id else "tracking"


def _record_verdict(record: UrlRecord) -> str:
    """Describe the state of a stored request."""
    reason = without_userinfo(record.reason)
    sentences: dict[UrlState, str] = {
        "open": f"not fetched yet: {record.place}",
        "done": _stored_verdict(record),
        "redirect": f"redirected {reason}",
        "missing": f"the page does not exist ({reason})",
        "skipped": f"not fetched: {reason}",
        "dead": f"failed: {reason}",
        "broken": f"fetched, but not extracted: {reason}",
    }
    return sentences[record.state]


def _stored_verdict(record: UrlRecord) -> str:
    if record.page.startswith(FILE_PAGE):
        return f"downloaded and stored as a file, status {record.status}"
    return f"fetched and stored, status {record.status}, {count(record.items, 'item')}"


async def _left_out(diagnostics: Diagnostics, run: Run, target: ExplainedUrl) -> LeftOutLinkView | None:
    """Return the link to a URL that the run saw and refused."""
    found = await diagnostics.find_left_out(run.id, target.fingerprint, target.normal)
    if found is None:
        return None
    parent = found.parent and without_userinfo(found.parent)
    url, detail = without_userinfo(found.url), without_userinfo(found.detail)
    return LeftOutLinkView(found.code, detail, url, parent, found.is_next_page)


def _verdict(request: RequestDetails | None, left_out: LeftOutLinkView | None, robots: RobotsView) -> str:
    """Describe what the store knows about a URL; empty if that is nothing."""
    if request is not None:
        return _record_verdict(request.record)
    if left_out is None:
        return ""
    what = "next page not followed" if left_out.is_next_page else "not followed"
    is_by_line = left_out.reason == "robots" and robots.is_allowed is False and robots.line
    why = f"robots.txt says {robots.line!r}" if is_by_line else left_out.detail
    return f"{what}: {why}; linked from {left_out.parent}"


def _unknown_verdict(run: Run, scope: ScopeView, robots: RobotsView, *, is_cut: bool) -> str:
    """Explain why there is no stored request: a rule excludes it, or no page of the run links to it."""
    if not scope.is_inside:
        return f"would not be fetched: {scope.why}"
    if robots.is_obeyed and robots.is_allowed is False:
        return f"would not be fetched: robots.txt says {robots.line!r}"
    if run.counters.open and run.state in UNFINISHED:
        return "not found so far: no page fetched yet links to it by a rule of the task"
    if is_cut:
        return "not known: the run left out more links than it stores, and this may be one of them"
    return "never found: no page of the run links to it by a rule of the task"


EXAMPLE_BYTES = 20_000
"""Longer items are not shown as examples."""


def record_view(request: RequestDetails, plan: Plan, proxies: PooledUrls) -> RecordView:
    """Return the view of a request."""
    record = request.record
    used_proxy = partial(_used_proxy, proxies, plan.fetch.of_page(record.page).proxy_pool)
    return RecordView(
        id=str(record.id),
        run_id=str(record.run_id),
        url=without_userinfo(record.url),
        method=request.method,
        body_bytes=request.body_bytes,
        fingerprint=request.fingerprint.hex(),
        visit=request.visit,
        state=record.state,
        reason=without_userinfo(record.reason),
        cause=record.cause,
        status=record.status,
        page=record.page,
        depth=record.depth,
        priority=record.priority,
        attempts=record.attempts,
        returns=record.returns,
        items=record.items,
        is_entry=request.is_entry,
        parent=record.parent and without_userinfo(record.parent),
        target=record.target and without_userinfo(record.target),
        found_at=format_time(record.found_at),
        closed_at=format_time(record.closed_at),
        proxy=used_proxy(record.proxy_id),
        cookies=_id_text(record.cookies_id),
        place=record.place,
        due_at=format_time(request.due_at),
        lease=_lease(request),
        failures=[
            AttemptView(
                *(format_time(failure.at), failure.status, without_userinfo(failure.reason), failure.cause),
                *(
                    failure.elapsed_s,
                    failure.delay_s,
                    used_proxy(failure.proxy_id),
                    _id_text(failure.cookies_id),
                ),
            )
            for failure in record.failures
        ],
        examples=[msgspec.Raw(item.data) for item in request.items if len(item.data) <= EXAMPLE_BYTES],
        rejects=[without_userinfo(reason) for reason in request.rejects],
    )


def _used_proxy(proxies: PooledUrls, pool: str, id_: int | None) -> UsedProxyView | None:
    return None if id_ is None else UsedProxyView(str(id_), proxies.get((pool, id_)))


def _id_text(id_: int | None) -> str | None:
    return None if id_ is None else str(id_)


def _lease(request: RequestDetails) -> LeaseView | None:
    lease = request.lease
    if lease is None:
        return None
    return LeaseView(lease.worker, format_time(lease.sent_at), format_time(lease.deadline_at))


def _sent_view(sent: SendRecord) -> SentView:
    return SentView(format_time(sent.at), str(sent.run_id) if sent.run_id > 0 else "", sent.delay_s)


def gate_view(request: RequestDetails) -> GateView:
    """Return the view of the gate of a request."""
    gate = request.gate
    is_held = gate.held_until > request.now
    return GateView(
        host=gate.host,
        delay_s=gate.delay_s,
        delay_set_by=gate.set_by,
        opens_at=format_time(gate.opens_at) if gate.opens_at > request.now else None,
        held_until=format_time(gate.held_until) if is_held else None,
        hold_reason=gate.hold_reason if is_held else "",
        in_flight=gate.in_flight,
        per_host=gate.per_host,
        sends=[_sent_view(sent) for sent in request.sends],
    )
