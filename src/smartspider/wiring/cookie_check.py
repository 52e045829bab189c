"""Check cookies of the vault: fetch a page with them, as a preview would."""

from __future__ import annotations

from smartspider.core.access import Principal, require
from smartspider.core.cookies.sets import TERM_S, is_in_domain
from smartspider.core.errors import Conflict, FetchFailed, Problem, RequestInvalid
from smartspider.core.pages.expectations import has_password_field
from smartspider.core.requests.urls import host_of
from smartspider.core.runs.plan import FetchPlan
from smartspider.engine.cookies.jar import SetJar
from smartspider.engine.permits import GatePermit
from smartspider.installation.installation import Installation
from smartspider.services.identities.cookies import find_set, find_signed_out, view_of
from smartspider.store.cookie_sets import Wanted
from smartspider.views.identities.cookies import CookieCheckView
from smartspider.wiring.preview.fetch_page import FetchContext, check_url, fetch_with
from smartspider.wiring.preview.shared_gates import PreviewGate

TIMEOUT_S = 15.0
MAX_BYTES = 2_000_000


async def check_cookies(
    installation: Installation, principal: Principal, ref: str, url: str | None
) -> CookieCheckView:
    """Fetch a page with the cookies of a set, and set them aside if the site does not know the login."""
    vault, clock = installation.vault, installation.clock
    found = await find_set(vault, ref)
    require(principal, "cookies", "write", owner=found.owner)
    url = check_url(url or found.check_url or f"https://{found.domain}/")
    if not is_in_domain(host_of(url), found.domain):
        raise RequestInvalid(f"{url} is not below {found.domain}", (Problem("url", "is of another site"),))
    if found.state == "invalid":
        await vault.cookies.set_state(
            found.id, "active", "", actor=principal.name
        )  # only active ones are lent
    lease = await vault.borrow(Wanted(set_id=found.id), holder="", borrower=principal.name, term_s=TERM_S)
    if lease is None:
        raise Conflict(
            f"{found.title} are locked or in use, so they cannot be checked now", hint="try again later"
        )
    status, reason, is_known = None, "", False
    try:
        jar = SetJar(vault, found.id, clock, None)
        await jar.catch_up()
        gate = PreviewGate(installation.permits)
        context = FetchContext(
            installation.settings,
            installation.policy,
            clock,
            lambda host: GatePermit(gate, clock, host, None, others=installation.other_crawls),
            installation.store,
            cookies=jar,
        )
        plan = FetchPlan(timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, truncates=True)
        page = await fetch_with(context, url, plan)
        status = page.status
        reason = find_signed_out(page, found.signed_out)
        if not reason and page.hops and has_password_field(page.body):
            reason = f"redirected to {page.url}, which asks for a password"
        is_known = bool(reason) or 200 <= status < 400
        if not is_known:
            reason = f"http {status}"
        await jar.save(lease.token)
        if is_known:
            await vault.cookies.checked(found.id, jar.uploads, reason or None, actor=principal.name)
    except FetchFailed as error:
        reason = error.message
    finally:
        await vault.cookies.give_back({lease.token: 1})
    if not is_known and found.state == "invalid":
        await vault.cookies.set_state(found.id, "invalid", found.reason, actor=principal.name)
    view = await view_of(vault, await vault.cookies.get(found.id))
    return CookieCheckView(is_known and not reason, url, status, reason, view)
