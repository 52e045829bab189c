"""Cookies of logins: upload, care, and who may borrow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from smartspider.core.access import STANDALONE_PREFIX, Principal, require
from smartspider.core.cookies.formats import parse_cookies
from smartspider.core.cookies.sets import (
    NUMBER_OF_SLOTS,
    TERM_S,
    CookieOutcome,
    CookieSet,
    SignedOutRule,
    domains_above,
    is_in_domain,
)
from smartspider.core.datetimes import format_time
from smartspider.core.errors import (
    Conflict,
    Forbidden,
    NotFound,
    NotReadable,
    Problem,
    RequestInvalid,
    SettingInvalid,
)
from smartspider.core.pages.page import Page
from smartspider.core.requests.domains import is_ip_address, is_public_suffix, is_top_level
from smartspider.core.requests.urls import host_of, normal_url
from smartspider.core.runs.plan import Plan
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.parsing.decoding import decode_html
from smartspider.extract.parsing.json_parser import read_json
from smartspider.installation.installation import Installation
from smartspider.installation.vault import Vault
from smartspider.services.inputs import is_id, parse_cursor, parse_id, to_page
from smartspider.store.cookie_sets import MAX_SLOTS, NewCookieSet, Wanted
from smartspider.views.identities.cookies import (
    CookieDetailsView,
    CookieLeaseView,
    CookieNameView,
    CookieSetView,
    RenewedLeaseView,
    UploadedView,
    lent_cookie,
    set_fields,
)
from smartspider.views.listed import Listed

MAX_NAME = 100
ROUTES = ("lease", "release", "renew", "upload")
"""Paths below `/api/cookies`, which cannot be names."""
HINT = "`smartspider cookie upload --domain {} FILE` stores them, `smartspider cookie list` shows all"


async def upload(
    installation: Installation,
    principal: Principal,
    *,
    domain: str,
    cookies: str | Sequence[Any] | Mapping[str, Any],
    name: str = "",
    is_shared: bool | None = None,
    limit: int | None = None,
    check_url: str | None = None,
    signed_out: Mapping[str, Any] | None = None,
) -> UploadedView:
    """Store the cookies of a login, or replace those with this name."""
    require(principal, "uploads", "write")
    host = normal_domain(domain)
    parsed = parse_cookies(cookies, host, installation.clock.now())
    rule = None if signed_out is None else _rule(signed_out)
    _check_options(host, name, limit, check_url)

    def check(found: CookieSet) -> None:
        if not principal.owns(found.owner):
            raise Forbidden(f"{found.title} belong to {found.owner}", hint="use another name")
        if found.domain != host:
            raise Conflict(
                f"{found.title} are for {found.domain}", hint="use another name, or delete them first"
            )

    new = NewCookieSet(
        domain=host,
        name=name,
        cookies=parsed.cookies,
        is_shared=is_shared,
        slots=limit,
        check_url=None if check_url is None else normal_url(check_url) or "",
        signed_out=rule,
    )
    made = await installation.vault.upload_cookies(
        new, actor=principal.name, default_slots=NUMBER_OF_SLOTS, check_owner=check
    )
    fields = set_fields(made, len(parsed.cookies), 0)
    return UploadedView(**fields, foreign=parsed.foreign, expired=parsed.expired)  # type: ignore[arg-type]


async def list_cookies(
    installation: Installation, *, domain: str | None, cursor: str | None, limit: int
) -> Listed[CookieSetView]:
    """Return sets of cookies in the order of their ids."""
    store, after = installation.vault.cookies, parse_cursor(cursor) or 0
    found = await store.find(
        domain=None if domain is None else normal_domain(domain), after=after, limit=limit + 1
    )
    usage = await store.usage([one.id for one in found])
    return to_page(
        found,
        limit,
        lambda one: one.id,
        lambda one: CookieSetView(**set_fields(one, *usage[one.id])),  # type: ignore[arg-type]
    )


async def get_cookies(installation: Installation, ref: str) -> CookieDetailsView:
    """Return a set with the names of its cookies."""
    store = installation.vault.cookies
    found = await find_set(installation.vault, ref)
    usage = (await store.usage([found.id]))[found.id]
    names = [
        CookieNameView(*one[:-1], None if one.expires_at is None else format_time(one.expires_at))
        for one in await store.cookies(found.id)
    ]
    return CookieDetailsView(**set_fields(found, *usage), names=names)  # type: ignore[arg-type]


async def delete_cookies(installation: Installation, principal: Principal, ref: str) -> None:
    """Delete a set with its cookies. Runs stop using it within seconds."""
    found = await find_set(installation.vault, ref)
    require(principal, "cookies", "write", owner=found.owner)
    await installation.vault.cookies.delete(found.id, actor=principal.name)


async def lock_cookies(
    installation: Installation, principal: Principal, ref: str, *, is_locked: bool
) -> CookieSetView:
    """Set a set aside, or make it active again."""
    found = await find_set(installation.vault, ref)
    require(principal, "cookies", "write", owner=found.owner)
    state, reason = ("locked", f"locked by {principal.name}") if is_locked else ("active", "")
    store = installation.vault.cookies
    changed = await store.set_state(found.id, state, reason, actor=principal.name)  # type: ignore[arg-type]
    return await view_of(installation.vault, changed)


async def lease_cookies(installation: Installation, principal: Principal, domain: str) -> CookieLeaseView:
    """Lend the cookies of a domain to a program of its own."""
    require(principal, "leases", "write")
    host, vault = normal_domain(domain), installation.vault
    is_any = principal.role == "admin" or principal.name.startswith(STANDALONE_PREFIX)
    owner = None if is_any else principal.name
    usable = await vault.cookies.usable_domain(domains_above(host), owner)
    if usable is None:
        raise NotFound(f"there are no cookies for {host}", hint=HINT.format(host))
    lease = await vault.borrow(Wanted(usable, owner=owner), holder="", borrower=principal.name, term_s=TERM_S)
    if lease is None:
        raise Conflict(f"no cookies for {host} are free", hint="try again, or upload more")
    jar = await vault.open_jar(lease.set_id)
    now = installation.clock.now()
    cookies = [lent_cookie(one) for one in jar.cookies if one.expires_at > now]
    return CookieLeaseView(f"{lease.token}.{jar.uploads}", str(lease.set_id), TERM_S, cookies)


async def renew_lease(installation: Installation, principal: Principal, lease_id: str) -> RenewedLeaseView:
    """Lend the cookies of a lease for another term."""
    require(principal, "leases", "write")
    token, _ = _token(lease_id)
    if token not in await installation.vault.cookies.renew({token: 0}, term_s=TERM_S):
        raise _lease_over()
    return RenewedLeaseView(lease_id, TERM_S)


async def release_lease(
    installation: Installation, principal: Principal, lease_id: str, outcome: CookieOutcome
) -> None:
    """Take lent cookies back. The outcome `invalid` sets them aside."""
    require(principal, "leases", "write")
    token, uploads = _token(lease_id)
    store = installation.vault.cookies
    if token not in await store.renew({token: 1}, term_s=TERM_S):
        raise _lease_over()
    if outcome == "invalid":
        what = f"{principal.name} reports that the site does not know the login"
        await store.report_invalid(token, uploads, what, actor=principal.name)
    await store.give_back({token: 1})


async def view_of(vault: Vault, one: CookieSet) -> CookieSetView:
    """Return the view of a set."""
    usage = (await vault.cookies.usage([one.id]))[one.id]
    return CookieSetView(**set_fields(one, *usage))  # type: ignore[arg-type]


async def find_set(vault: Vault, ref: str) -> CookieSet:
    """Return the set with an id or a name; raise `NotFound`."""
    if is_id(ref):
        return await vault.cookies.get(parse_id(ref, "set of cookies"))
    id_ = await vault.cookies.id_of_name(ref)
    if id_ is None:
        raise NotFound(f"there are no cookies {ref[:MAX_NAME]!r}", hint="`smartspider cookie list` shows all")
    return await vault.cookies.get(id_)


async def vault_with_cookies(
    vaults: Sequence[Vault], plan: Plan, owner: str | None
) -> tuple[Vault, CookieSet | None]:
    """Return the first vault with cookies that a run may use, and the set if the task names one.

    Raise `SettingInvalid` if there are none, or if none of them is active. `owner` None: those of anybody.
    """
    hosts = list(dict.fromkeys(host_of(entry.url) for entry in plan.entries))
    if plan.vault_cookies:
        return await _named(vaults, plan.vault_cookies, hosts, owner)
    for vault in vaults:
        for host in hosts:
            domain = await vault.cookies.usable_domain(domains_above(host), owner)
            if domain is not None:
                await _require_active(vault, domain, owner)
                return vault, None
    named = hosts[0] if hosts else "DOMAIN"
    what = f"the task sends cookies of the vault, and {owner or 'it'} has none for {' or '.join(hosts[:3])}"
    raise SettingInvalid(what, hint=HINT.format(named))


async def check_cookies(
    installation: Installation, plan: Plan, owner: str | None = None, *, is_local: bool = False
) -> None:
    """Raise `SettingInvalid` or `Forbidden` if a task uses cookies that it has not."""
    if plan.vault_cookies is not None:
        with installation.open_vaults(is_local=is_local) as vaults:
            await vault_with_cookies(vaults, plan, owner)


async def _named(
    vaults: Sequence[Vault], ref: str, hosts: Sequence[str], owner: str | None
) -> tuple[Vault, CookieSet]:
    for vault in vaults:
        try:
            found = await find_set(vault, ref)
        except NotFound:
            continue
        if not _may_use(found, owner):
            raise Forbidden(
                f"{found.title} belong to {found.owner}, and a task of {owner} names them",
                hint="ask for them to be uploaded as shared, or upload your own",
            )
        if hosts and not any(is_in_domain(host, found.domain) for host in hosts):
            what = f"{found.title} are for {found.domain}, and the task begins at {' and '.join(hosts[:3])}"
            raise SettingInvalid(what, hint="name others as cookie_id, or set use_cookie alone")
        if found.state != "active":
            raise _not_active([found], found.domain)
        return vault, found
    raise SettingInvalid(
        f"the task names the cookies {ref!r} of the vault, which are not there",
        hint=HINT.format(hosts[0] if hosts else "DOMAIN"),
    )


async def _require_active(vault: Vault, domain: str, owner: str | None) -> None:
    if not await vault.cookies.has_active(domain, owner):
        raise _not_active(
            [one for one in await vault.cookies.find(domain=domain) if _may_use(one, owner)], domain
        )


def _may_use(one: CookieSet, owner: str | None) -> bool:
    return owner is None or one.is_shared or one.owner == owner


def _not_active(found: Sequence[CookieSet], domain: str) -> SettingInvalid:
    states = "; ".join(f"{one.title} are {one.state}: {one.reason}" for one in found[:3])
    return SettingInvalid(f"no cookies for {domain} are active: {states}", hint=HINT.format(domain))


def find_signed_out(page: Page, rule: SignedOutRule) -> str:
    """Return why a page shows that its site no longer knows a login; empty if it does not."""
    if page.status == 401 or page.status in rule.status:
        return f"http {page.status}"
    if rule.url and rule.url in page.url:
        return f"it leads to {page.url}"
    try:
        if rule.selector and LexborHTMLParser(decode_html(page)[0]).css_first(rule.selector) is not None:
            return f"the page has {rule.selector}"
        if rule.json and _expression(rule.json).search(read_json(page.body)):
            return f"{rule.json} is true"
    except (NotReadable, ValueError):
        return ""  # the reader of the page says what is wrong with it
    return ""


@lru_cache(maxsize=256)
def _expression(text: str) -> JmesExpression:
    return JmesExpression(text)


def normal_domain(text: str) -> str:
    """Return a domain in its normal form, in punycode; raise `RequestInvalid` for what is none."""
    plain = text.strip().lower().removeprefix(".").removesuffix(".")
    normal = normal_url(f"http://{plain}/") if plain and not set(plain) & set("/@ ") else None
    host = host_of(normal) if normal else ""
    if not host or (":" in plain and not plain.startswith("[")):
        raise _invalid("domain", "is not a domain", "write it like example.com")
    if is_top_level(host) if "." not in host else not is_ip_address(host) and is_public_suffix(host):
        raise _invalid(
            "domain", f"{host} is one under which everybody can register", "write that of the site"
        )
    return host


def _check_options(host: str, name: str, limit: int | None, check_url: str | None) -> None:
    if "/" in name or name in {".", ".."}:
        raise _invalid("name", "is a path", "a name without '/', as it is a part of URLs")
    if name in ROUTES:
        raise _invalid("name", "is a word of the API", f"any other than {', '.join(ROUTES)}")
    if len(name) > MAX_NAME or not name.isprintable() or is_id(name) or name != name.strip():
        what = "is not a name" if not is_id(name) else "is a number, as ids are"
        raise _invalid("name", what, f"printable, not a number, at most {MAX_NAME} characters")
    if limit is not None and not 1 <= limit <= MAX_SLOTS:
        raise _invalid(
            "limit", f"is not between 1 and {MAX_SLOTS}", "requests that use them at the same time"
        )
    if check_url:
        normal = normal_url(check_url)
        if normal is None or not is_in_domain(host_of(normal), host):
            raise _invalid("check_url", f"is not a URL of {host}", "a page that only a login gets")


def _rule(written: Mapping[str, Any]) -> SignedOutRule:
    try:
        rule = msgspec.convert(written, SignedOutRule)
    except msgspec.ValidationError as error:
        raise _invalid(
            "signed_out", str(error), "status is a list of numbers, the others are texts"
        ) from None
    if unknown := sorted(written.keys() - set(SignedOutRule.__struct_fields__)):
        raise _invalid(f"signed_out.{unknown[0]}", "is not known", "status, url, selector and json are")
    try:
        msgspec.json.encode(rule)
    except UnicodeEncodeError:
        raise _invalid("signed_out", "is not Unicode text", "write characters as they are") from None
    if any(not 300 <= status <= 599 for status in rule.status):
        raise _invalid("signed_out.status", "is not between 300 and 599", "such as 403")
    if rule.selector:
        try:
            LexborHTMLParser("").css_first(rule.selector)
        except SelectolaxError:
            raise _invalid("signed_out.selector", "is not a CSS selector", "such as form#login") from None
    if rule.json:
        try:
            _expression(rule.json)
        except InvalidExpression as error:
            raise _invalid(
                "signed_out.json", f"is not JMESPath: {error}", "such as error == 'login'"
            ) from None
    return rule


def _token(lease_id: str) -> tuple[str, int]:
    token, _, uploads = lease_id.partition(".")
    if not token or not is_id(uploads):
        raise _lease_over()
    return token, int(uploads)


def _lease_over() -> Conflict:
    return Conflict("the lease is over: the cookies may be lent to others now", hint="lease them again")


def _invalid(path: str, what: str, hint: str) -> RequestInvalid:
    return RequestInvalid(f"{path} {what}", (Problem(path, what, hint),), hint=hint)
