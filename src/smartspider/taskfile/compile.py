"""Compilation of a task to the plan of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from smartspider.core.items.dedup import ItemDedup, unique_keys
from smartspider.core.pages.rules import PagePlan
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.request_headers import merge_headers
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.requests.urls import CanonicalRules, normal_url, origin_of
from smartspider.core.runs.plan import FetchPlan, Guards, Plan, RetryPolicy, RunLimits
from smartspider.taskfile.checks import require_supported
from smartspider.taskfile.compile_files import file_pages
from smartspider.taskfile.compile_pages import page_plans, sitemap_plans, sitemap_requests, steps_of
from smartspider.taskfile.entries import entry_requests, entry_rules
from smartspider.taskfile.functions import bind_functions
from smartspider.taskfile.model.fetch import PageFetch
from smartspider.taskfile.model.sections import Adaptive
from smartspider.taskfile.model.task import Task, task_spec
from smartspider.taskfile.model.values import duration_s, host_in_punycode

_MIN_POLITE_DELAY_S = 0.1


def compile_task(task: Task) -> Plan:
    """Return the plan of a run of the task; raise `NotBuilt` if it uses an unsupported feature."""
    require_supported(task)
    return plan_task(task)


def plan_task(task: Task) -> Plan:
    """Return the plan of a task, whatever is supported or installed now."""
    written = task_spec(task)
    task = bind_functions(task)
    dedup = task.dedup
    canonical = CanonicalRules(frozenset(dedup.ignore_params), dedup.drop_tracking, dedup.drop_session_ids)
    canonical = entry_rules(task, canonical)
    entries = entry_requests(task, canonical)
    pages = page_plans(task) | sitemap_plans(task)
    files = file_pages(pages, steps_of(task.pipeline))
    known = {entry.fingerprint for entry in entries}
    sitemaps = [each for each in sitemap_requests(task, entries, canonical) if each.fingerprint not in known]
    return Plan(
        name=written.name,
        spec=written.spec,
        spec_hash=written.spec_hash,
        entries=(*entries, *sitemaps),
        pages=pages | files,
        scope=_scope(task, frozenset(entry.host for entry in entries)),
        fetch=_fetch(task, files),
        politeness=_politeness(task),
        limits=_limits(task),
        traps=TrapGuards(**task.traps.model_dump()),
        retry=_retry(task),
        canonical=canonical,
        guards=_guards(task),
        concurrency=task.concurrency,
        weight=task.priority + 1,
        overrides=tuple(_overrides(task)),
        pipeline=steps_of(task.pipeline),
        layers=tuple(layer.model_dump(exclude_defaults=True) for layer in task.layers),
        logs_cleaning=task.cleaning_log,
        items=_item_dedup(task),
        recrawl=_recrawl(task),
        urls=task.dedup.urls,
        vault_cookies=_vault_cookies(task),
        runs_functions=task.functions is not None,
    )


def _vault_cookies(task: Task) -> str | None:
    if task.cookie_id is not None:
        return str(task.cookie_id)
    return "" if task.use_cookie else None


def _scope(task: Task, entry_hosts: frozenset[str]) -> UrlScope:
    return UrlScope(
        hosts=entry_hosts,
        domains=frozenset(host for domain in task.scope.domains if (host := host_in_punycode(domain))),
        allow=tuple(task.scope.allow),
        deny=tuple(task.scope.deny),
        same_host=task.scope.same_host,
    )


def _fetch(task: Task, files: Mapping[str, PagePlan]) -> FetchPlan:
    fetch = task.fetch
    plan = FetchPlan(
        mode=fetch.mode,
        headers=tuple(fetch.headers.items()),
        timeout_s=fetch.timeout_s,
        max_bytes=fetch.max_bytes,
        user_agents=tuple(fetch.user_agents),
        send_secrets_to=tuple(origin_of(url) for url in map(normal_url, fetch.send_secrets_to) if url),
        cookies=fetch.cookies,
        proxy_pool=fetch.proxy_pool or "",
    )
    pages = {
        name: _page_fetch(plan, page.fetch) for name, page in task.pages.items() if page.fetch != PageFetch()
    }
    sizes = {name: page.file.max_bytes for name, page in files.items() if page.file}
    pages |= {name: msgspec.structs.replace(plan, max_bytes=size) for name, size in sizes.items()}
    return msgspec.structs.replace(plan, pages=pages)


def _page_fetch(plan: FetchPlan, own: PageFetch) -> FetchPlan:
    """Return the fetch settings of a page type: those of the task with its own."""
    return msgspec.structs.replace(
        plan,
        mode=own.mode or plan.mode,
        headers=merge_headers(plan.headers, tuple(own.headers.items())),
        timeout_s=own.timeout_s or plan.timeout_s,
        max_bytes=own.max_bytes or plan.max_bytes,
        user_agents=tuple(own.user_agents) or plan.user_agents,
        send_secrets_to=plan.send_secrets_to,
        proxy_pool=own.proxy_pool or plan.proxy_pool,
    )


def _politeness(task: Task) -> PolitenessPolicy:
    section = task.politeness
    return PolitenessPolicy(
        obey_robots=section.robots == "obey",
        delay_s=section.delay_s,
        rate_per_s=section.rate_per_s,
        per_host=section.per_host,
        per_domain=section.per_domain,
        adaptive=section.adaptive,
    )


def _limits(task: Task) -> RunLimits:
    depths = [depth for depth in (task.limits.max_depth, task.scope.max_depth) if depth is not None]
    return RunLimits(
        max_pages=task.limits.max_pages,
        max_items=task.limits.max_items,
        max_depth=min(depths, default=None),
        max_duration_s=task.limits.max_duration_s,
        max_errors=task.limits.max_errors,
    )


def _retry(task: Task) -> RetryPolicy:
    retry = task.retry
    return RetryPolicy(retry.max_attempts, retry.backoff_s, retry.max_backoff_s, frozenset(retry.on_status))


def _guards(task: Task) -> Guards:
    if task.alerts is None:
        return Guards()
    return Guards(
        consecutive_failures=task.alerts.consecutive_failures,
        failure_rate=task.alerts.failure_rate,
        pauses=task.alerts.action == "pause",
    )


def _item_dedup(task: Task) -> ItemDedup:
    section = task.dedup
    keys: list[tuple[str, ...]] = []
    if section.items is not None:
        keys.append(() if section.items == "content" else tuple(section.items))
    keys += unique_keys(steps_of(task.pipeline))
    return ItemDedup(tuple(keys), section.scope, section.keep, tuple(section.update))


def _recrawl(task: Task) -> RecrawlPolicy:
    section = task.recrawl.adaptive
    bounds = section if isinstance(section, Adaptive) else Adaptive() if section else None
    return RecrawlPolicy(
        window_s=duration_s(task.dedup.window) if task.dedup.window else None,
        conditional=task.recrawl.conditional,
        min_s=duration_s(bounds.min) if bounds else None,
        max_s=duration_s(bounds.max) if bounds else None,
        is_by_depth=task.limits.max_depth is not None
        or task.scope.max_depth is not None
        or any(follow.max_depth is not None for page in task.page_types.values() for follow in page.follow),
    )


def _overrides(task: Task) -> Iterator[str]:
    politeness = task.politeness
    if politeness.robots == "ignore":
        yield "robots.txt is ignored (politeness.robots)"
    if politeness.delay_s == 0:
        yield "there is no delay between requests to a host (politeness.delay_s)"
    elif politeness.delay_s < _MIN_POLITE_DELAY_S:
        yield f"the delay between requests to a host is only {politeness.delay_s:g} s (politeness.delay_s)"
    if not politeness.adaptive:
        yield "requests are not slowed down for overloaded hosts (politeness.adaptive)"
    for path, fetch in task.fetch_sections.items():
        if fetch.user_agents:
            yield f"the crawler does not send its own user agent ({path}.user_agents)"
        if _has_user_agent(fetch.headers):
            yield f"the crawler does not send its own user agent ({path}.headers)"
    if any(_has_user_agent(entry.headers) for entry in task.entry_urls if not isinstance(entry, str)):
        yield "the crawler does not send its own user agent to an entry URL (entry_urls)"


def _has_user_agent(headers: dict[str, str]) -> bool:
    return any(name.lower() == "user-agent" for name in headers)
