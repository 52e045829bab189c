"""Check a proxy: fetch a page through it, as a preview would."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import FetchFailed, NotFound, ProxyFailed
from smartspider.core.runs.plan import FetchPlan
from smartspider.engine.permits import GatePermit
from smartspider.installation.installation import Installation
from smartspider.store.proxies import ProxyReport
from smartspider.views.identities.proxies import ProxyCheckView, proxy_view
from smartspider.wiring.fetch_page import FetchContext, check_url, fetch_with
from smartspider.wiring.shared_gates import PreviewGate

TIMEOUT_S = 15.0
MAX_BYTES = 100_000


async def check_proxy(installation: Installation, principal: Principal, id_: int, url: str) -> ProxyCheckView:
    """Fetch a page through a proxy, and record how that went."""
    require(principal, "proxies", "write")
    url = check_url(url)
    opened = await installation.vault.open_proxies([id_], opened_by=f"check by {principal.name}")
    if id_ not in opened:
        raise NotFound(f"there is no proxy {id_}")
    store, gate, clock = installation.vault.proxies, PreviewGate(installation.permits), installation.clock
    context = FetchContext(
        msgspec.structs.replace(installation.settings, proxy=opened[id_]),
        installation.policy,
        clock,
        lambda host: GatePermit(gate, clock, host, None, others=installation.other_crawls),
        None,
    )
    status, elapsed_s, error = None, None, ""
    try:
        plan = FetchPlan(timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, truncates=True, max_redirects=0)
        page = await fetch_with(context, url, plan)
        status, elapsed_s = page.status, round(page.elapsed_s, 4)
        await store.ban(id_, 0.0, actor=principal.name)
        await store.report([ProxyReport(id_, 1, 0, page.elapsed_s)])
    except FetchFailed as failure:
        error = failure.message
        if isinstance(failure, ProxyFailed):
            await store.report([ProxyReport(id_, 1, 1, None)])
            await store.ban_failed(id_, error)
    record = await store.get(id_)
    return ProxyCheckView(not error, url, status, elapsed_s, error, proxy_view(record, clock.now()))
