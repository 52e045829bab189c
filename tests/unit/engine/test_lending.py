"""Cookies of the vault are lent to requests: no more at a time than slots, and not a moment too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from smartspider.core.cookies.formats import parse_cookies
from smartspider.core.cookies.sets import TERM_S, CookieSet, SignedOutRule
from smartspider.core.errors import CookieRetry, CookiesSignedOut, NoCookies, NotReadable, SignedOut
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request, make_request
from smartspider.engine.cookies.jar import boot_time
from smartspider.engine.cookies.lending import CookieLending, LendingOptions
from smartspider.engine.retry_or_close import Reading
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.vault import OpenedJar
from smartspider.interfaces.fetcher import Exchange
from smartspider.services.identities.cookies import find_signed_out
from smartspider.store.cookie_sets import NewCookieSet
from smartspider.wiring.opening import open_folder

SITE = "http://www.site.example"
LOGIN = b"<form><input type=password></form>"


class OpenGate:
    """A permit that lets everything pass, and counts what is sent."""

    def __init__(self) -> None:
        self.count = 0

    async def approach(self) -> None:
        """Return at once."""

    async def enter(self) -> None:
        """Return at once."""

    def sent(self) -> None:
        """Count."""
        self.count += 1

    def another(self, _host: str) -> OpenGate:
        """Return the same."""
        return self


class MembersSite:
    """A site: paths that it refuses redirect to a login. Requests stay until `answers` is set."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.sent: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.has_sent = asyncio.Event()
        self.now = self.most = 0

    async def fetch(self, exchange: Exchange) -> Page:
        """Return the page for the cookies of an exchange."""
        await exchange.permit.enter()
        exchange.permit.sent()
        url, cookies = exchange.request.url, exchange.session.cookies
        self.sent.append(((cookies and cookies.header_for(url)) or b"").decode())
        self.has_sent.set()
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.answers.wait()
            await asyncio.sleep(0)
        finally:
            self.now -= 1
        is_refused = "/*" in self.refused or url.removeprefix(SITE) in self.refused
        if not is_refused and cookies is not None:
            cookies.store(url, [b"seen=" + str(len(self.sent)).encode()])
        hops = (url,) if is_refused else ()
        return Page(url, 200, {}, LOGIN if is_refused else b"<h1>in</h1>", "utf-8", 0.0, hops=hops)

    async def read(self, exchange: Exchange) -> Reading:
        """Fetch and read a page as a worker does."""
        page = await self.fetch(exchange)
        if page.hops:
            raise SignedOut("redirected to /login, which asks for a password")
        return Reading(page)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    """A data folder with a vault."""
    with open_folder(tmp_path, shares_gates=False) as opened:
        yield opened


async def upload(
    folder: DataFolder, cookies: str = "sid=1", *, slots: int = 1, check_url: str = "", name: str = ""
) -> CookieSet:
    """Store the cookies of a login."""
    parsed = parse_cookies(cookies, "site.example", folder.clock.now())
    new = NewCookieSet(
        domain="site.example", name=name, cookies=parsed.cookies, slots=slots, check_url=check_url
    )
    return await folder.vault.upload_cookies(new, actor="ann")


class Hands:
    """A clock that counts while the machine sleeps, moved by a test."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return boot_time() + self.ahead_s


@asynccontextmanager
async def lending(
    folder: DataFolder, now: Hands | None = None, owner: str | None = None, named: CookieSet | None = None
) -> AsyncIterator[CookieLending]:
    """Lend the cookies of a vault to a run."""
    options = LendingOptions("run:7", owner)
    if named is not None:
        options = LendingOptions("run:7", owner, named.id, named.domain, named.name)
    one = CookieLending(
        folder.vault,
        options,
        folder.clock,
        find_signed_out,
        boottime=now or boot_time,
    )
    async with one.opened():
        yield one


def exchange(path: str = "/a", gate: OpenGate | None = None) -> Exchange:
    """Return a request to send."""
    url = path if path.startswith("http") else f"{SITE}{path}"
    request: Request = make_request(url)
    return Exchange(request, gate or OpenGate())


async def test_no_more_requests_use_a_set_than_it_has_slots(folder: DataFolder) -> None:
    made, site = await upload(folder, slots=2), MembersSite()
    async with lending(folder) as one, lending(folder) as other:
        requests = [
            lender.lend(exchange(f"/{n}"), site.read, site) for lender in (one, other) for n in range(2)
        ]
        done = await asyncio.gather(*requests, return_exceptions=True)
    assert site.most <= 2
    assert all(isinstance(each, Reading | NoCookies) for each in done)
    assert {header.partition(";")[0] for header in site.sent} == {"sid=1"}
    found = await folder.vault.cookies.get(made.id)
    assert found.usage_count == len(site.sent)
    assert await folder.vault.cookies.usage([made.id]) == {made.id: (2, 0)}


async def test_a_slot_is_used_by_one_request_at_a_time_from_the_first_on(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await upload(folder)
    site, open_jar = MembersSite(), folder.vault.open_jar
    is_opening, may_open = asyncio.Event(), asyncio.Event()

    async def open_slowly(set_id: int, *, after: int = 0, uploads: int = 0) -> OpenedJar:
        is_opening.set()
        await may_open.wait()
        return await open_jar(set_id, after=after, uploads=uploads)

    monkeypatch.setattr(folder.vault, "open_jar", open_slowly)
    site.answers.clear()
    async with lending(folder) as one:
        first = asyncio.create_task(one.lend(exchange("/first"), site.read, site))
        await is_opening.wait()
        second = asyncio.create_task(one.lend(exchange("/second"), site.read, site))
        for _ in range(50):
            await asyncio.sleep(0)
        may_open.set()
        await site.has_sent.wait()
        for _ in range(50):
            await asyncio.sleep(0)
        assert site.now == 1
        site.answers.set()
        await asyncio.gather(first, second)


async def test_nothing_is_sent_after_the_term_of_a_slot(folder: DataFolder) -> None:
    await upload(folder)
    now, gate, site = Hands(), OpenGate(), MembersSite()

    async def read_late(sent: Exchange) -> Reading:
        now.ahead_s += TERM_S  # the process was stopped between the loan and the send
        return await site.read(sent)

    async with lending(folder, now) as one:
        with pytest.raises(CookieRetry, match="given back"):
            await one.lend(exchange(gate=gate), read_late, site)
    assert (gate.count, site.sent) == (0, [])


async def test_a_request_whose_slot_cannot_be_renewed_is_broken_off(folder: DataFolder) -> None:
    await upload(folder)
    now, site = Hands(), MembersSite()
    site.answers.clear()
    async with lending(folder, now) as one:
        request = asyncio.create_task(one.lend(exchange(), site.read, site))
        await site.has_sent.wait()
        now.ahead_s += TERM_S
        with pytest.raises(CookieRetry, match="given back"):
            await request
    assert site.now == 0


async def test_cookies_that_a_site_sets_are_stored_and_used_by_others(folder: DataFolder) -> None:
    await upload(folder, slots=2)
    site = MembersSite()
    async with lending(folder) as one, lending(folder) as other:
        await one.lend(exchange(), site.read, site)
        await one.store()
        await other.lend(exchange(), site.read, site)
    assert site.sent == ["sid=1", "sid=1; seen=1"]
    assert await folder.vault.verify() == (2, [])


async def test_other_hosts_get_nothing_of_a_set(folder: DataFolder) -> None:
    await upload(folder)
    site = MembersSite()
    async with lending(folder) as one:
        await one.lend(exchange("http://other.example/"), site.read, site)
    assert site.sent == [""]


async def test_a_login_that_ended_is_set_aside_for_all_and_the_next_one_used(folder: DataFolder) -> None:
    first, second = await upload(folder), await upload(folder, "sid=2")
    site = MembersSite()
    async with lending(folder) as one:
        await one.lend(exchange("/good"), site.read, site)
        site.refused = {"/*"}
        for made in (first, second):
            with pytest.raises(CookiesSignedOut, match=f"cookies {made.id} are signed out") as failed:
                await one.lend(exchange("/b"), site.read, site)
            assert failed.value.set_id == made.id
        with pytest.raises(NoCookies, match=r"no cookies for site\.example are active") as none:
            await one.lend(exchange("/b"), site.read, site)
        assert none.value.wait_s > 1
        found = [await folder.vault.cookies.get(made.id) for made in (first, second)]
        assert [each.state for each in found] == ["invalid", "invalid"]
        site.refused.clear()
        await folder.vault.cookies.set_state(second.id, "active", "", actor="ann")
        await one.lend(exchange("/b"), site.read, site)


@pytest.mark.parametrize("check_url", ["", f"{SITE}/account"])
async def test_a_page_that_a_working_login_may_not_see_is_its_own_failure(
    folder: DataFolder, check_url: str
) -> None:
    made, site = await upload(folder, check_url=check_url), MembersSite()
    site.refused = {"/admin"}
    async with lending(folder) as one:
        if not check_url:
            await one.lend(exchange("/good"), site.read, site)
        with pytest.raises(SignedOut, match=f"although cookies {made.id} work at"):
            await one.lend(exchange("/admin"), site.read, site)
    assert (await folder.vault.cookies.get(made.id)).state == "active"


@pytest.mark.parametrize("is_named", [False, True])
async def test_a_run_waits_for_cookies_that_were_deleted_while_it_used_them(
    folder: DataFolder, is_named: bool
) -> None:
    made, site, now = await upload(folder), MembersSite(), Hands()
    options = LendingOptions("run:7", set_id=made.id if is_named else 0, domain="site.example")
    one = CookieLending(folder.vault, options, folder.clock, find_signed_out, boottime=now)
    async with one.opened():
        await one.lend(exchange(), site.read, site)
        await folder.vault.cookies.delete(made.id, actor="ann")
        now.ahead_s += TERM_S  # its slot is over, and cannot be renewed
        with pytest.raises(NoCookies, match="they were deleted"):
            await one.lend(exchange("/b"), site.read, site)
    assert len(site.sent) == 1


async def test_a_run_waits_for_cookies_that_do_not_open(folder: DataFolder) -> None:
    made, site = await upload(folder), MembersSite()
    damage = "UPDATE sealed SET value = ? WHERE kind = 'cookie'"
    await folder.database.write(lambda connection: connection.execute(damage, (b"x" * 40,)))
    async with lending(folder) as one:
        with pytest.raises(NoCookies, match=f"cookies {made.id} do not open"):
            await one.lend(exchange(), site.read, site)
    assert site.sent == []


async def test_a_run_waits_where_its_cookies_were_deleted_and_takes_those_with_their_name(
    folder: DataFolder,
) -> None:
    site, deleted, now = MembersSite(), await upload(folder, name="main"), Hands()
    async with lending(folder, now, named=deleted) as one:
        await one.lend(exchange(), site.read, site)
        await folder.vault.cookies.delete(deleted.id, actor="ann")
        now.ahead_s = TERM_S
        with pytest.raises(NoCookies, match="they were deleted"):
            await one.lend(exchange(), site.read, site)
        await upload(folder, "sid=2", name="main")
        with pytest.raises(NoCookies, match="in use"):
            await one.lend(exchange(), site.read, site)
        await one.lend(exchange(), site.read, site)
    assert site.sent == ["sid=1", "sid=2"]


async def test_a_rule_that_looks_too_long_at_a_page_fails_that_page_by_its_name(folder: DataFolder) -> None:
    parsed = parse_cookies("sid=1", "site.example", folder.clock.now())
    rule = SignedOutRule(json="a[].b")
    new = NewCookieSet(domain="site.example", name="", cookies=parsed.cookies, signed_out=rule)
    made, site = await folder.vault.upload_cookies(new, actor="ann"), MembersSite()

    def look_for_ever(_page: Page, _rule: SignedOutRule) -> str:
        while True:
            pass

    one = CookieLending(folder.vault, LendingOptions("run:7", longest_s=0.05), folder.clock, look_for_ever)
    async with one.opened():
        with pytest.raises(NotReadable, match=f"the rule of cookies {made.id} .* took more than"):
            await one.lend(exchange(), site.read, site)


async def test_only_sets_of_the_owner_and_shared_ones_are_lent(folder: DataFolder) -> None:
    await upload(folder)
    site = MembersSite()
    async with lending(folder, owner="bob") as one:
        await one.lend(exchange(), site.read, site)
    assert site.sent == [""]
