"""Borrow cookies of the vault for a preview: its process gets them with the request, and no key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from smartspider.core.cookies.jar import Cookie
from smartspider.core.cookies.sets import TERM_S, domains_above
from smartspider.core.errors import Conflict, StoreUnavailable
from smartspider.core.requests.urls import host_of
from smartspider.installation.vault import Vault
from smartspider.interfaces.secret_source import SecretUse
from smartspider.services.identities.cookies import vault_with_cookies
from smartspider.store.cookie_sets import Wanted
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task

KEYS = ("use_cookie", "cookie_id")


class BorrowedCookies:
    """Cookies that a preview is given. Empty `domain`: its task uses none."""

    domain = ""
    content = b""

    async def store(self, changed: bytes) -> None:
        """Store the cookies that the site changed."""


class BorrowedSlot(BorrowedCookies):
    """A slot of a set."""

    def __init__(self, vault: Vault, token: str, uploads: int, domain: str, cookies: list[Cookie]) -> None:
        self._vault, self._token, self._uploads = vault, token, uploads
        self.domain = domain
        self.content = msgspec.msgpack.encode(cookies)

    async def store(self, changed: bytes) -> None:
        """Store the cookies that the site changed."""
        if changed:
            cookies = msgspec.msgpack.decode(changed, type=list[Cookie])
            await self._vault.write_jar(self._token, self._uploads, cookies)

    async def renew(self) -> None:
        """Keep the slot while the preview runs."""
        while True:
            await asyncio.sleep(TERM_S / 3)
            with suppress(StoreUnavailable):
                await self._vault.cookies.renew({self._token: 0}, term_s=TERM_S)


@asynccontextmanager
async def borrowed_cookies(
    vault: Vault, task: Any, url: str | None, use: SecretUse
) -> AsyncIterator[BorrowedCookies]:
    """Borrow the cookies that a task uses."""
    if not isinstance(task, dict) or not any(task.get(key) for key in KEYS):
        yield BorrowedCookies()
        return
    plan, owner = compile_task(parse_task(task)), use.owner
    _, found = await vault_with_cookies([vault], plan, owner)
    host = host_of(url or plan.entries[0].url)
    domain = await vault.cookies.usable_domain(domains_above(host), owner)
    wanted = Wanted(domain or "", found.id if found is not None else 0, owner)
    lease = await vault.borrow(wanted, holder="", borrower=use.opened_by, term_s=TERM_S)
    if lease is None:
        raise Conflict(f"no cookies for {host} are free", hint="try again in a moment")
    try:
        jar, of = await vault.open_jar(lease.set_id), await vault.cookies.get(lease.set_id)
        slot = BorrowedSlot(vault, lease.token, jar.uploads, of.domain, list(jar.cookies))
        renewing = asyncio.create_task(slot.renew())
        try:
            yield slot
        finally:
            renewing.cancel()
    finally:
        await vault.cookies.give_back({lease.token: 1})
