"""The contract of `store/cookie_sets.py`; tests name the promise they check."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from smartspider.core.cookies.jar import Cookie
from smartspider.core.cookies.sets import TERM_S, CookieLease, CookieSet, SignedOutRule
from smartspider.core.errors import Forbidden, NotFound
from smartspider.core.vault import SealedValue
from smartspider.store.cookie_sets import GIVES_WAY_S, NewCookieSet, Wanted
from smartspider.store.vault import Seal, SealContext
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.backend import Backend, BackendContract


def cookie(name: str, value: str, *, at: float = 1.0, expires_at: float = float("inf")) -> Cookie:
    """Return a cookie of a site."""
    return Cookie("site.example", "/", name.encode(), value.encode(), 1, at, expires_at=expires_at)


def sealed(contexts: list[SealContext] | None = None) -> Callable[[Cookie], Seal]:
    """Return what seals cookies in plain, and notes what they are bound to."""

    def seal(one: Cookie) -> Seal:
        def bound(context: SealContext) -> SealedValue:
            if contexts is not None:
                contexts.append(context)
            return SealedValue("one", b"key", one.value)

        return bound

    return seal


def accept(_: CookieSet) -> None:
    """Accept every change."""


def refuse(found: CookieSet) -> None:
    """Accept no change."""
    raise Forbidden(f"{found.owner} owns this")


async def upload(
    backend: Backend,
    *cookies: Cookie,
    name: str = "",
    owner: str = "ann",
    is_shared: bool | None = None,
    slots: int | None = None,
    check: Callable[[CookieSet], None] = accept,
) -> CookieSet:
    """Upload cookies of a site."""
    new = NewCookieSet(
        domain="site.example",
        name=name,
        cookies=cookies or (cookie("sid", "canary-1"),),
        is_shared=is_shared,
        slots=slots,
    )
    store = backend.cookie_sets
    return await store.upload(new, sealed(), actor=owner, default_slots=1, check_owner=check)


async def borrow(
    backend: Backend, wanted: Wanted = Wanted("site.example"), *, holder: str = "one", alive: bool = True
) -> CookieLease | None:
    """Borrow a slot."""
    return await backend.cookie_sets.borrow(
        wanted, holder=holder, borrower="run:7", term_s=TERM_S, is_alive=lambda _: alive
    )


async def lent(backend: Backend, wanted: Wanted = Wanted("site.example")) -> CookieLease:
    """Borrow a slot that is free."""
    lease = await borrow(backend, wanted)
    assert lease is not None
    return lease


class CookieSetStoreContract(BackendContract):
    """A store of cookie sets lends their slots, and keeps their cookies."""

    async def test_an_upload_replaces_all_cookies_of_a_name(self, backend: Backend) -> None:
        """Cookie store 1, 8: what is read is bound to the same as what was sealed; the audit has no value."""
        first = await upload(backend, cookie("sid", "canary-1"), cookie("old", "canary-2"), name="main")
        unnamed = await upload(backend)
        with pytest.raises(Forbidden):
            await upload(backend, name="main", owner="bob", check=refuse)
        contexts: list[SealContext] = []
        rule = SignedOutRule(selector="form#login")
        new = NewCookieSet(
            domain="site.example", name="main", cookies=[cookie("sid", "canary-3")], slots=2, signed_out=rule
        )
        again = await backend.cookie_sets.upload(
            new, sealed(contexts), actor="ann", default_slots=1, check_owner=accept
        )
        assert (again.id, again.uploads, again.slots, again.signed_out) == (first.id, 2, 2, rule)
        assert unnamed.id != first.id
        jar = await backend.cookie_sets.read_jar(first.id)
        assert [(one.name, context, value.value) for one, context, value in jar.cookies if value] == [
            (b"sid", contexts[0], b"canary-3")
        ]
        assert "canary" not in str(await audit_rows(backend))
        assert await backend.cookie_sets.usage([first.id, unnamed.id]) == {
            first.id: (1, 0),
            unnamed.id: (1, 0),
        }
        await backend.cookie_sets.delete(first.id, actor="ann")
        await backend.cookie_sets.delete(unnamed.id, actor="ann")
        assert await backend.vault.read_sealed() == []
        with pytest.raises(NotFound, match=str(first.id)):
            await backend.cookie_sets.get(first.id)

    async def test_slots_are_the_limit(self, backend: Backend) -> None:
        """Cookie store 2, 4: the set that was used least recently is lent first."""
        one, two = await upload(backend, slots=1), await upload(backend, slots=2)
        leases = []
        for _ in range(3):
            leases.append(await lent(backend))
            await backend.clock.advance(0.01)
        assert [lease.set_id for lease in leases] == [one.id, two.id, two.id]
        assert [lease.shared_with_others for lease in leases] == [False, True, True]
        assert len({lease.token for lease in leases}) == 3
        assert await borrow(backend) is None
        await backend.cookie_sets.give_back({leases[1].token: 0})
        assert (await lent(backend)).set_id == two.id

    async def test_a_slot_is_lent_to_whom_it_serves(self, backend: Backend) -> None:
        """Cookie store 2: to tasks of the owner, or of all if it is shared; by its id or its domain."""
        own = await upload(backend)
        assert await borrow(backend, Wanted("site.example", owner="bob")) is None
        assert await borrow(backend, Wanted("other.example", owner="ann")) is None
        assert await borrow(backend, Wanted(set_id=own.id, owner="")) is None
        assert (await lent(backend, Wanted(set_id=own.id, owner="ann"))).set_id == own.id
        shared = await upload(backend, owner="eve", is_shared=True)
        assert (await lent(backend, Wanted("site.example", owner="bob"))).set_id == shared.id
        store = backend.cookie_sets
        assert await store.usable_domain(["www.site.example", "site.example"], "bob") == "site.example"
        await store.delete(shared.id, actor="eve")
        assert await store.usable_domain(["www.site.example", "site.example"], "bob") is None

    async def test_a_term_that_is_not_renewed_ends(self, backend: Backend) -> None:
        """Cookie store 3, 6: nothing changes by a token that is over, and requests are counted once."""
        made, lease = await upload(backend), await lent(backend)
        store = backend.cookie_sets
        await backend.clock.advance(TERM_S - 1)
        for _ in range(2):
            assert await store.renew({lease.token: 5}, term_s=TERM_S) == {lease.token: False}
        await backend.clock.advance(TERM_S - 1)
        assert await store.renew({lease.token: 7}, term_s=TERM_S) == {lease.token: False}
        assert (await store.get(made.id)).usage_count == 7
        await backend.clock.advance(TERM_S + 1)
        late = await lent(backend)
        assert await store.renew({lease.token: 99}, term_s=TERM_S) == {}
        await store.give_back({lease.token: 99})
        assert await store.write_jar(lease.token, 1, [cookie("sid", "late", at=9)], sealed()) is None
        assert await store.report_invalid(lease.token, 1, "late", actor="run:7") is None
        found = await store.get(made.id)
        assert (found.usage_count, found.state, found.version) == (7, "active", 1)
        assert await borrow(backend) is None
        await store.give_back({late.token: 2})
        assert (await store.get(made.id)).usage_count == 9

    async def test_the_slots_of_a_holder_that_ended_are_free_at_once(self, backend: Backend) -> None:
        """Cookie store 2: silent is not dead."""
        await upload(backend)
        await lent(backend)
        assert await borrow(backend, holder="two") is None
        assert await borrow(backend, holder="one", alive=False) is None  # a holder is not dead while it asks
        assert await borrow(backend, holder="two", alive=False) is not None

    async def test_a_slot_that_others_wait_for_is_not_kept_for_ever(self, backend: Backend) -> None:
        """Cookie store 3."""
        await upload(backend)
        lease, store = await lent(backend), backend.cookie_sets
        assert await borrow(backend, holder="two") is None
        assert await store.renew({lease.token: 0}, term_s=TERM_S) == {lease.token: False}
        for _ in range(3):
            await backend.clock.advance(GIVES_WAY_S / 3 + 1)
            renewed = await store.renew({lease.token: 0}, term_s=TERM_S)
        assert renewed == {lease.token: True}

    async def test_cookies_change_one_by_one(self, backend: Backend) -> None:
        """Cookie store 5: of two values the one that was set last stays, and deleted ones leave a mark."""
        made = await upload(backend, cookie("a", "1"), cookie("b", "2"), slots=2)
        one, two, store = await lent(backend), await lent(backend), backend.cookie_sets
        assert await store.write_jar(one.token, 1, [cookie("a", "new", at=5)], sealed()) == 2
        assert await store.write_jar(two.token, 1, [cookie("a", "old", at=4)], sealed()) == 3
        assert await store.write_jar(two.token, 1, [cookie("b", "", at=6, expires_at=0.0)], sealed()) == 4
        jar = await store.read_jar(made.id, after=1, uploads=1)
        assert [(found.name, value and value.value) for found, _, value in jar.cookies] == [
            (b"a", b"new"),
            (b"b", None),
        ]
        assert await store.versions(made.id) == (1, 4)
        assert [found.name for found in await store.cookies(made.id)] == ["a"]

    async def test_what_was_learned_before_an_upload_changes_nothing_after_it(self, backend: Backend) -> None:
        """Cookie store 5."""
        made = await upload(backend, name="main")
        lease, store = await lent(backend), backend.cookie_sets
        await upload(backend, cookie("sid", "fresh", at=2.0), name="main")
        assert await store.write_jar(lease.token, 1, [cookie("sid", "stale", at=9)], sealed()) is None
        assert await store.report_invalid(lease.token, 1, "signed out", actor="run:7") is None
        checked = await store.checked(made.id, 1, False, "signed out", actor="ann")
        assert checked.state == "active"
        jar = await store.read_jar(made.id, after=9, uploads=1)
        assert [value and value.value for _, _, value in jar.cookies] == [b"fresh"]
        found = await store.report_invalid(lease.token, 2, "signed out", actor="run:7")
        assert found is not None
        assert (found.state, found.reason) == ("invalid", "signed out")

    async def test_only_active_sets_are_lent_and_renewed(self, backend: Backend) -> None:
        """Cookie store 2, 3."""
        made, lease, store = await upload(backend, slots=2), await lent(backend), backend.cookie_sets
        assert await store.has_active("site.example", "ann")
        assert not await store.has_active("site.example", "bob")
        await store.set_state(made.id, "locked", "by ann", actor="ann")
        assert not await store.has_active("site.example", None)
        assert await borrow(backend) is None
        assert await store.renew({lease.token: 3}, term_s=TERM_S) == {}
        assert (await store.get(made.id)).usage_count == 3
        assert (await store.checked(made.id, 1, True, "", actor="ann")).state == "locked"
        await store.set_state(made.id, "active", "", actor="ann")
        assert await borrow(backend) is not None
        assert await store.states() == {"active": 1}

    async def test_a_check_sets_aside_and_activates_again(self, backend: Backend) -> None:
        """Cookie store 2: a check borrows also what was set aside."""
        made, store = await upload(backend), backend.cookie_sets
        await store.checked(made.id, 1, False, "signed out", actor="ann")
        assert await borrow(backend, Wanted(set_id=made.id)) is None
        assert await borrow(backend, Wanted(set_id=made.id, is_check=True)) is not None
        assert (await store.get(made.id)).used_at == 0.0
        found = await store.checked(made.id, 1, None, "timeout", actor="ann")
        assert (found.state, found.reason) == ("invalid", "signed out")
        found = await store.checked(made.id, 1, True, "", actor="ann")
        assert (found.state, found.reason, found.checked_at) == ("active", "", backend.clock.now())

    async def test_sets_in_use_with_a_page_to_check_are_due(self, backend: Backend) -> None:
        """Cookie store 4: the longest unchecked first."""
        store, ids = backend.cookie_sets, []
        for name, url in (("a", "http://site.example/a"), ("b", ""), ("c", "http://site.example/c")):
            new = NewCookieSet(domain="site.example", name=name, cookies=[cookie("sid", "1")], check_url=url)
            made = await store.upload(new, sealed(), actor="ann", default_slots=1, check_owner=accept)
            ids.append(made.id)
        now = backend.clock.now()
        assert await store.to_check(now, now - 60, 9) == []
        for id_ in ids:
            await lent(backend, Wanted(set_id=id_))
        await store.checked(ids[0], 1, True, "", actor="keeper")
        await backend.clock.advance(1)
        assert await store.to_check(backend.clock.now(), now - 60, 9) == [ids[2], ids[0]]
        assert await store.to_check(now, now - 60, 9) == [ids[2]]
        await store.set_state(ids[2], "locked", "", actor="ann")
        assert await store.to_check(now, now - 60, 9) == []

    async def test_lending_is_in_the_audit(self, backend: Backend) -> None:
        """Cookie store 7."""
        await upload(backend)
        await lent(backend)
        assert [(actor, action) for actor, action, *_ in await audit_rows(backend)] == [
            ("ann", "cookies.uploaded"),
            ("run:7", "cookies.lent"),
        ]
