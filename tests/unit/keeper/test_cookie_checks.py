"""Logins that are used are checked, and who owns one is told when its site no longer knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.cookies.sets import TERM_S, CookieSet
from smartspider.core.errors import Conflict, DeliveryFailed, RequestInvalid
from smartspider.core.notifications import NotificationTarget
from smartspider.interfaces.leadership import Term
from smartspider.keeper.cookies import CheckCookies
from smartspider.keeper.messages import MemoryOutbox
from smartspider.services.identities import cookies
from smartspider.services.notifications.notifier import Message, describe
from smartspider.store.cookie_sets import Wanted
from smartspider.wiring.cookie_check import check_cookies
from smartspider.wiring.offload.process_offload import OffloadLimits, ProcessOffload
from smartspider.wiring.opening import open_folder
from smartspider_testing.clock import ManualClock
from smartspider_testing.sites.answers import page
from smartspider_testing.sites.scripted import ScriptableSite

ANN = Principal("ann", "operator")
TERM = Term("one", 3, 0.0)


async def test_a_login_in_use_is_checked_and_its_end_is_told_until_it_arrives(tmp_path: Path) -> None:
    brought: list[Any] = []
    failures = [DeliveryFailed("away")]
    clock = ManualClock()

    async def deliver(target: NotificationTarget, message: Message) -> None:
        if failures:
            raise failures.pop()
        brought.append((target.address, msgspec.json.decode(message.body), describe(message)[0]))

    with open_folder(tmp_path, shares_gates=False) as folder:
        await folder.notifications.add_target(
            "webhook", "http://ann/", ["cookies.invalid"], task_id=None, actor="ann"
        )
        made = await cookies.upload(
            folder,
            ANN,
            domain="site.example",
            cookies="sid=1",
            name="main",
            limit=2,
            check_url="http://site.example/account",
        )
        store, asked = folder.vault.cookies, list[int]()

        async def check(id_: int) -> CookieSet:
            asked.append(id_)
            if len(asked) == 1:
                raise Conflict("all are in use")
            return await store.checked(id_, 1, False, "http 401", actor="keeper")

        outbox = MemoryOutbox(folder.notifications, deliver, clock)
        duty = CheckCookies(store, check, outbox, folder.clock)
        await duty.do(TERM)
        assert asked == []  # nobody used it
        await folder.vault.borrow(Wanted("site.example"), holder="", borrower="run:1", term_s=TERM_S)
        for _ in range(3):
            await duty.do(TERM)
        assert asked == [int(made.id), int(made.id)]
        assert (await store.get(int(made.id))).reason == "http 401"
        assert brought == []
        await clock.advance(60)
        await duty.do(TERM)
    ((address, told, headline),) = brought
    assert (address, told["event"], told["cookies"], told["reason"]) == (
        "http://ann/",
        "cookies.invalid",
        made.id,
        "http 401",
    )
    assert headline == "cookies are signed out"


async def test_a_check_fetches_a_page_with_the_cookies_and_stores_what_the_site_sets(tmp_path: Path) -> None:
    async with ScriptableSite() as site:
        site.on("/account", page("<h1>Ann</h1>", headers={"Set-Cookie": "seen=1; Path=/"}))
        site.on("/out", page("<form id=login>"))
        elsewhere = site.url().replace("127.0.0.1", "localhost")
        site.on("/portal", page("", status=302, headers={"Location": f"{elsewhere}portal2"}))
        site.on("/portal2", page("<h1>Ann</h1>", headers={"Set-Cookie": "foreign=1; Path=/"}))
        with open_folder(tmp_path, shares_gates=False) as own:
            folder = msgspec.structs.replace(
                own, settings=msgspec.structs.replace(own.settings, allow_private="127.0.0.1,localhost")
            )
            made = await cookies.upload(
                folder,
                ANN,
                domain="127.0.0.1",
                cookies="sid=1",
                check_url=f"{site.url()}account",
                signed_out={"selector": "form#login"},
            )
            found = await check_cookies(folder, ANN, made.id, None)
            assert (found.ok, found.status, found.cookies.cookies) == (True, 200, 2)
            found = await check_cookies(folder, ANN, made.id, f"{site.url()}portal")
            assert (found.ok, found.cookies.cookies) == (True, 2)
            found = await check_cookies(folder, ANN, made.id, f"{site.url()}out")
            assert (found.ok, found.cookies.state) == (False, "invalid")
            assert "form#login" in found.reason
            found = await check_cookies(folder, ANN, made.id, f"{site.url()}nothing")
            assert (found.ok, found.status, found.cookies.state) == (False, 404, "invalid")
            found = await check_cookies(folder, ANN, made.id, None)
            assert (found.ok, found.cookies.state, found.cookies.lent) == (True, "active", 0)
            assert found.cookies.last_used is None  # or checks would follow checks for ever
        sent = [one.headers.get("cookie") for one in site.log if one.path == "/account"]
    assert sent == ["sid=1", "sid=1; seen=1"]


async def test_a_rule_that_takes_for_ever_holds_up_nothing_but_its_check(tmp_path: Path) -> None:
    offload = ProcessOffload(OffloadLimits(time_limit_s=0.5))
    async with ScriptableSite() as site:
        site.on("/account", page(f'{{"a": [{"1," * 100_000}1]}}'))
        with open_folder(tmp_path, shares_gates=False) as own:
            settings = msgspec.structs.replace(own.settings, allow_private="127.0.0.1")
            folder = msgspec.structs.replace(own, settings=settings, offload=offload)
            rule = {"json": "a[].[@,@,@,@,@,@][].[@,@,@,@,@,@][].[@,@,@,@,@,@][] && `false`"}
            made = await cookies.upload(
                folder, ANN, domain="127.0.0.1", cookies="sid=1", limit=1, signed_out=rule
            )
            try:
                with pytest.raises(RequestInvalid):
                    await check_cookies(folder, ANN, made.id, f"{site.url()}account")
            finally:
                await offload.close()
            assert (await cookies.get_cookies(folder, made.id)).lent == 0
