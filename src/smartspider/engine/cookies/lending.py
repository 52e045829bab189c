"""Lend cookies of the vault to the requests of a run in a worker."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec

from smartspider.core.cookies.sets import TERM_S, CookieSet, SignedOutRule, domains_above, is_in_domain
from smartspider.core.errors import (
    CookieRetry,
    CookiesSignedOut,
    FetchFailed,
    NoCookies,
    NotFound,
    NotReadable,
    SettingInvalid,
    SignedOut,
    StoreUnavailable,
)
from smartspider.core.pages.expectations import has_password_field
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request, make_request
from smartspider.core.workers import activity
from smartspider.core.workers.time_limit import TimeLimit, TookTooLong
from smartspider.engine.cookies.jar import CookieVault, DomainCookies, Loan, LoanPermit, SetJar, boot_time
from smartspider.engine.processor import AnswerExchange
from smartspider.engine.retry_or_close import Reading
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Exchange, Fetcher
from smartspider.store.cookie_sets import Wanted

MARGIN_S = 3.0
"""A slot is used for less than its term by this time: for what was sent last, and for slow processes."""
RENEW_S = 10.0
IDLE_S = 2.0
"""A slot that no request used for so long is given back."""
TICK_S = 0.5
"""Interval of looking after slots, and of asking again for one."""
WAIT_S = 1.0
"""A request waits for a slot, without one of the worker, before it goes back to the queue."""
EMPTY_WAIT_S = 5.0
"""Wait of a request whose domain has no active set."""
REMEMBER_S = 5.0
"""Hosts are looked up again after this time if there were no sets for them."""

FindSignedOut = Callable[[Page, SignedOutRule], str]
"""Returns why a page shows that its site no longer knows a login; empty if it does not."""


class LendingOptions(msgspec.Struct, frozen=True):
    """The sets that a run borrows: one by its id, or those of the domain of each request."""

    borrower: str
    """The name of the borrower in the audit."""
    owner: str | None = None
    """None: sets of anybody."""
    set_id: int = 0
    domain: str = ""
    """The domain of the set with that id."""
    name: str = ""
    """Its name, if the task has that: whoever deletes the set may upload another under it."""
    longest_s: float = 20.0
    """The time for looking at a page by the rule of a set."""


class CookieLending:
    """1. A request is sent with cookies of the vault while it holds a slot of their set, and not later than
    the slot may be used. 2. A page of which the site does not know the login is tried again with another set;
    what only that page refuses is the page's own failure: a page that worked before is fetched again to tell.
    3. Cookies that a site sets are stored before the pages that brought them. 4. Requests that find no slot
    go back to the queue and use up no attempt.
    """

    def __init__(
        self,
        vault: CookieVault,
        options: LendingOptions,
        clock: Clock,
        find_signed_out: FindSignedOut,
        *,
        redact: Callable[..., object] | None = None,
        boottime: Callable[[], float] = boot_time,
    ) -> None:
        self._vault, self._options, self._clock = vault, options, clock
        self._find_signed_out = find_signed_out
        self._limit = TimeLimit(options.longest_s)
        self._redact = redact
        self._boottime = boottime
        self._holder = ""
        self._loans: list[Loan] = []
        self._idle_loans: defaultdict[str, deque[Loan]] = defaultdict(deque)
        """By domain, the one that was not used for the longest time first."""
        self._jars: dict[int, SetJar] = {}
        self._known_good: dict[int, tuple[int, Request]] = {}
        """A page that worked with a set, and the upload that it worked with."""
        self._domains: dict[str, tuple[str | None, float]] = {}
        self._ask_at: dict[str, float] = {}
        """When to ask again for a slot of a domain that had none."""
        self._asking = asyncio.Lock()
        self._freed = asyncio.Event()
        self._renew_at = 0.0
        self.lost_changes = 0
        """Times that cookies could not be stored any more."""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[CookieLending]:
        """Look after the slots until the end, then store what changed and give them back."""
        async with AsyncExitStack() as closing:
            self._holder = closing.enter_context(self._vault.borrower())
            ticking = asyncio.create_task(self._look_after())
            try:
                yield self
            finally:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                with suppress(StoreUnavailable):
                    await self.store()
                    await self._give_back(self._loans)

    async def lend(self, exchange: Exchange, answer: AnswerExchange, fetcher: Fetcher) -> Reading:
        """Fetch and read a page with a slot, if there are sets for its host."""
        loan = await self._borrow(exchange)
        if loan is None:
            return await answer(exchange)
        exchange.progress.cookies_id = loan.of.id
        session = exchange.session
        cookies = DomainCookies(loan.of.domain, loan.jar, session.cookies)
        own = msgspec.structs.replace(
            exchange,
            permit=LoanPermit(exchange.permit, loan),
            session=msgspec.structs.replace(session, cookies=cookies),
        )
        try:
            async with asyncio.timeout(loan.left_s) as loan.timeout:
                return await self._judged(loan, own, answer, fetcher)
        except TimeoutError as error:
            raise CookieRetry(f"{loan.of.title} had to be given back") from error
        finally:
            self._end(loan)

    async def store(self) -> None:
        """Store the cookies that changed. Called before the pages that brought them are settled."""
        for set_id, jar in list(self._jars.items()):
            tokens = [loan.lease.token for loan in self._loans if loan.of.id == set_id]
            if tokens and not await jar.save(tokens[-1]):
                self.lost_changes += 1

    async def _judged(
        self, loan: Loan, exchange: Exchange, answer: AnswerExchange, fetcher: Fetcher
    ) -> Reading:
        request = exchange.request
        try:
            reading = await answer(exchange)
            reason = self._why_signed_out(exchange, reading.page, loan.of)
        except SignedOut as error:
            reason = error.message
        if reason:
            raise await self._signed_out(loan, exchange, reason, fetcher)
        if 200 <= reading.page.status < 300 and request.extras.method == "GET":
            self._known_good[loan.of.id] = loan.jar.uploads, request
        return reading

    async def _signed_out(self, loan: Loan, exchange: Exchange, reason: str, fetcher: Fetcher) -> FetchFailed:
        """Return the error that names the culprit: the page, or the cookies, which are set aside then."""
        url, of = exchange.request.url, loan.of
        message = f"{of.title} are signed out: {reason}"
        if loan.is_dropped:
            return CookiesSignedOut(message)
        good = self._good_page(loan)
        if good is not None and good.url != url:
            page = await fetcher.fetch(exchange.another(good))
            if not (
                self._why_signed_out(exchange, page, of) or (page.hops and has_password_field(page.body))
            ):
                return SignedOut(f"{reason}, although {of.title} work at {good.url}")
        uploads, what = loan.jar.uploads, f"{url}: {reason}"
        self._drop(of.id)
        found = await self._vault.cookies.report_invalid(
            loan.lease.token, uploads, what, actor=self._options.borrower
        )
        if found is None:
            return CookiesSignedOut(message)
        return CookiesSignedOut(message, set_id=of.id, title=of.title, owner=found.owner)

    def _why_signed_out(self, exchange: Exchange, page: Page, of: CookieSet) -> str:
        """Return why a page shows that its site does not know the login, within the time for a page."""
        if not (of.signed_out.selector or of.signed_out.json):
            return self._find_signed_out(page, of.signed_out)
        if exchange.lease is not None:
            activity.begin(exchange.lease)
        try:
            return self._limit.run(self._find_signed_out, page, of.signed_out)
        except TookTooLong:
            what = (
                f"the rule of {of.title} for pages without a login took more than {self._limit.longest_s:g} s"
            )
            raise NotReadable(what) from None
        finally:
            activity.end()

    def _good_page(self, loan: Loan) -> Request | None:
        """Return a page that only a login gets: the one that its owner named, or one that worked before."""
        if loan.of.check_url:
            return make_request(loan.of.check_url)
        uploads, request = self._known_good.get(loan.of.id, (0, None))
        return request if uploads == loan.jar.uploads else None

    async def _borrow(self, exchange: Exchange) -> Loan | None:
        host, progress = exchange.request.host, exchange.progress
        domain = await self._domain_of(host)
        if domain is None:
            return None
        until = self._clock.monotonic() + WAIT_S
        while (loan := self._idle(domain) or await self._take(domain)) is None:
            left_s = until - self._clock.monotonic()
            if left_s <= 0.0:
                raise await self._none_free(domain)
            progress.only_waits = True
            try:
                async with asyncio.timeout(min(left_s, TICK_S)):
                    await self._freed.wait()
            except TimeoutError:
                pass
            finally:
                progress.only_waits = False
        return loan

    async def _domain_of(self, host: str) -> str | None:
        """Return the domain whose sets are for a host; None if it has none."""
        options = self._options
        if options.set_id:
            return options.domain if is_in_domain(host, options.domain) else None
        domain, look_at = self._domains.get(host, (None, float("-inf")))
        if domain is None and self._clock.monotonic() >= look_at:
            domain = await self._vault.cookies.usable_domain(domains_above(host), options.owner)
            self._domains[host] = domain, self._clock.monotonic() + REMEMBER_S
        return domain

    def _idle(self, domain: str) -> Loan | None:
        """Return the slot of a domain that was not used for the longest time, in use from now on."""
        idle = self._idle_loans[domain]
        while idle:
            loan = idle.popleft()
            if loan.is_free:
                loan.is_busy = True
                return loan
        return None

    async def _take(self, domain: str) -> Loan | None:
        """Borrow a slot, in use from now on, unless there was none a moment ago."""
        if self._clock.monotonic() < self._ask_at.get(domain, float("-inf")):
            return None
        async with self._asking:
            if (loan := self._idle(domain)) is not None:
                return loan
            if self._clock.monotonic() < self._ask_at.get(domain, float("-inf")):
                return None
            asked_at, options = self._boottime(), self._options
            wanted = Wanted("" if options.set_id else domain, options.set_id, options.owner)
            lease = await self._vault.borrow(
                wanted, holder=self._holder, borrower=options.borrower, term_s=TERM_S
            )
            if lease is None:
                self._ask_at[domain] = self._clock.monotonic() + TICK_S
                return None
            try:
                of = await self._vault.cookies.get(lease.set_id)
            except NotFound:
                return None  # it was deleted at this moment
            jar = self._jars.get(of.id)
            if jar is None:
                jar = self._jars[of.id] = SetJar(self._vault, of.id, self._clock, self._redact)
            jar.has_others = lease.shared_with_others
            loan = Loan(lease, of, jar, asked_at + TERM_S - MARGIN_S, self._boottime)
            loan.is_busy = True
            self._loans.append(loan)
            try:
                await jar.catch_up()
            except (NotFound, SettingInvalid) as error:  # it was deleted, or does not open
                self._end(loan)
                unusable = NoCookies(error.message, hint=error.hint)
                unusable.wait_s = EMPTY_WAIT_S
                raise unusable from error
            except BaseException:
                self._end(loan)
                raise
            return loan

    async def _none_free(self, domain: str) -> NoCookies:
        options, store = self._options, self._vault.cookies
        usable: list[CookieSet] = []
        if options.set_id:
            usable = await self._find_named()
            has_active = any(one.state == "active" for one in usable)
        else:
            found = await store.find(domain=domain)
            usable = [one for one in found if options.owner in {None, one.owner} or one.is_shared]
            has_active = await store.has_active(domain, options.owner)
        if has_active:
            return NoCookies(f"all cookies for {domain} are in use")
        states = "; ".join(
            f"{one.title}: {one.state}" + (f", {one.reason}" if one.reason else "") for one in usable[:3]
        )
        error = NoCookies(
            f"no cookies for {domain} are active ({states or 'they were deleted'})",
            hint=f"log in and upload new ones: `smartspider cookie upload --domain {domain} FILE`",
        )
        error.wait_s = EMPTY_WAIT_S
        return error

    async def _find_named(self) -> list[CookieSet]:
        """Return the set that the task names; if it was deleted, the one that has its name now."""
        store, options = self._vault.cookies, self._options
        with suppress(NotFound):
            return [await store.get(options.set_id)]
        id_ = await store.id_of_name(options.name) if options.name else None
        with suppress(NotFound):
            again = await store.get(id_ or 0)
            if again.domain == options.domain and (again.is_shared or options.owner in {None, again.owner}):
                self._options = msgspec.structs.replace(options, set_id=again.id)
                return [again]
        return []

    def _end(self, loan: Loan) -> None:
        loan.timeout = None
        loan.is_busy = False
        loan.idle_since = self._boottime()
        self._idle_loans[loan.of.domain].append(loan)
        self._freed.set()
        self._freed = asyncio.Event()

    def _drop(self, set_id: int) -> None:
        """Begin no more requests with a set."""
        for loan in self._loans:
            if loan.of.id == set_id:
                loan.is_dropped = True

    async def _look_after(self) -> None:
        """Renew slots, give back idle ones, and break off requests whose slots are over."""
        while True:
            await self._clock.sleep(TICK_S)
            for loan in self._loans:
                if loan.left_s <= 0.0 and not loan.is_over:
                    loan.end()
            with suppress(StoreUnavailable):  # it is tried again while the slots may be used
                await self._renew()
                now = self._boottime()
                idle = [
                    loan
                    for loan in self._loans
                    if not loan.is_busy and (not loan.is_free or now - loan.idle_since > IDLE_S)
                ]
                if idle:
                    await self.store()
                    await self._give_back([loan for loan in idle if not loan.is_busy])

    async def _renew(self) -> None:
        if self._boottime() < self._renew_at or not self._loans:
            return
        asked_at, loans = self._boottime(), [loan for loan in self._loans if loan.left_s > 0.0]
        renewed = await self._vault.cookies.renew(
            {loan.lease.token: loan.requests for loan in loans}, term_s=TERM_S
        )
        self._renew_at = asked_at + RENEW_S
        for loan in loans:
            if loan.lease.token not in renewed:
                loan.end()
                continue
            loan.extend(asked_at + TERM_S - MARGIN_S)
            if renewed[loan.lease.token]:
                loan.gives_way = True
                self._ask_at[loan.of.domain] = self._clock.monotonic() + 2 * IDLE_S
        for jar in {loan.jar for loan in self._loans}:
            await jar.catch_up()

    async def _give_back(self, loans: list[Loan]) -> None:
        if loans:
            requests = {loan.lease.token: loan.requests for loan in loans}
            for loan in loans:
                loan.is_over = True
            self._loans = [loan for loan in self._loans if loan not in loans]
            await self._vault.cookies.give_back(requests)
            used = {loan.of.id for loan in self._loans}
            self._jars = {
                set_id: jar for set_id, jar in self._jars.items() if set_id in used or jar.changes()
            }
