"""Check cookies of the vault: fetch a page with them, as a preview would."""

from __future__ import annotations

from typing import NamedTuple

from smartspider.core.access import Principal, require
from smartspider.core.cookies.jar import CookieJar
from smartspider.core.cookies.sets import TERM_S, CookieSet, is_in_domain
from smartspider.core.errors import Conflict, FetchFailed, Problem, RequestInvalid
from smartspider.core.pages.expectations import has_password_field
from smartspider.core.requests.urls import host_of
from smartspider.core.runs.plan import FetchPlan
from smartspider.core.tasks import SYSTEM
from smartspider.engine.cookies.jar import DomainCookies, SetJar
from smartspider.engine.permits import GatePermit
from smartspider.installation.installation import Installation
from smartspider.services.identities.cookies import find_set, find_signed_out, view_of
from smartspider.store.cookie_sets import Wanted
from smartspider.views.identities.cookies import CookieCheckView
from smartspider.wiring.fetch_page import FetchContext, check_url, fetch_with
from smartspider.wiring.shared_gates import PreviewGate

TIMEOUT_S = 15.0
MAX_BYTES = 2_000_000


class CheckResult(NamedTuple):
    """The result of a check; `is_known` None: it was not found out, for the reason."""

    is_known: bool | None
    status: int | None
    reason: str


async def check_cookies(
    installation: Installation, principal: Principal, ref: str, url: str | None
) -> CookieCheckView:
    """Fetch a page with the cookies of a set, and set them aside if the site does not know the login."""
    vault = installation.vault
    found = await find_set(vault, ref)
    require(principal, "cookies", "write", owner=found.owner)
    url = check_url(url or found.check_url or f"https://{found.domain}/")
    if not is_in_domain(host_of(url), found.domain):
        raise RequestInvalid(f"{url} is not below {found.domain}", (Problem("url", "is of another site"),))
    result = await _check(installation, found, url, actor=principal.name)
    view = await view_of(vault, await vault.cookies.get(found.id))
    return CookieCheckView(bool(result.is_known), url, result.status, result.reason, view)


async def check_set(installation: Installation, id_: int) -> CookieSet:
    """Check a set by the page that its owner named, and return it as it is then."""
    found = await installation.vault.cookies.get(id_)
    await _check(installation, found, found.check_url, actor=SYSTEM)
    return await installation.vault.cookies.get(id_)


async def _check(installation: Installation, found: CookieSet, url: str, *, actor: str) -> CheckResult:
    """Fetch a page with a slot of a set, and note what it told."""
    vault = installation.vault
    wanted = Wanted(set_id=found.id, is_check=True)
    lease = await vault.borrow(wanted, holder="", borrower=actor, term_s=TERM_S)
    if lease is None:
        raise Conflict(
            f"{found.title} are locked or in use, so they cannot be checked now", hint="try again later"
        )
    jar = SetJar(vault, found.id, installation.clock, None)
    try:
        await jar.catch_up()
        result = await _fetch(installation, found, url, jar, holder=actor)
        await jar.save(lease.token)
        await vault.cookies.checked(found.id, jar.uploads, result.is_known, result.reason, actor=actor)
    finally:
        await vault.cookies.give_back({lease.token: 0})
    return result


async def _fetch(
    installation: Installation, found: CookieSet, url: str, jar: SetJar, *, holder: str
) -> CheckResult:
    gate = PreviewGate(installation.permits)
    context = FetchContext(
        installation.settings,
        installation.policy,
        installation.clock,
        lambda host: GatePermit(gate, installation.clock, host, None, others=installation.other_crawls),
        installation.store,
        cookies=DomainCookies(found.domain, jar, CookieJar(installation.clock.now)),
    )
    plan = FetchPlan(timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES, truncates=True)
    try:
        page = await fetch_with(context, url, plan)
    except FetchFailed as error:
        return CheckResult(None, None, error.message)
    reason = await installation.offload.run(find_signed_out, page, found.signed_out, holder=holder)
    if not reason and page.hops and has_password_field(page.body):
        reason = f"redirected to {page.url}, which asks for a password"
    if reason:
        return CheckResult(False, page.status, f"{url}: {reason}")
    if 200 <= page.status < 400:
        return CheckResult(True, page.status, "")
    return CheckResult(None, page.status, f"http {page.status}")
