"""Sets of cookies: their slots, which are lent, and their cookies, whose values are in the vault."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from smartspider.core.cookies.jar import Cookie, CookieKey
from smartspider.core.cookies.set_cookie import FOREVER
from smartspider.core.cookies.sets import CookieLease, CookieSet, CookieState, SignedOutRule
from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.failpoints import reach
from smartspider.core.vault import SealedKind, SealedValue
from smartspider.store import audit, statements
from smartspider.store.cookies import KEPT_VERSIONS, PURGE_EVERY
from smartspider.store.database import Connection, Database, one, row, rows
from smartspider.store.vault import Seal, SealContext, delete_sealed, installation_of, put_sealed

SQL = statements.load("cookie_sets.sql", __package__)

MAX_SETS = 100_000
MAX_SLOTS = 100
GIVES_WAY_S = 30.0
"""A slot that was held for so long is not renewed if another borrower asked for one."""
COOKIE: SealedKind = "cookie"
ANYBODY = "*"
"""In statements: sets of all owners."""

SealCookie = Callable[[Cookie], Seal]
"""Returns the function that encrypts the value of a cookie."""


class NewCookieSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of cookies to store. None: as before, or the usual."""

    domain: str
    name: str
    cookies: Sequence[Cookie]
    is_shared: bool | None = None
    slots: int | None = None
    check_url: str | None = None
    signed_out: SignedOutRule | None = None


class Wanted(NamedTuple):
    """The wish of a borrower: a set, or any set of a domain that the tasks of an owner may use."""

    domain: str = ""
    set_id: int = 0
    owner: str | None = None
    """None: of anybody."""
    is_check: bool = False
    """For a check: also a set that was set aside as invalid. It is no use of the set."""


class SetUsage(NamedTuple):
    """The numbers of living cookies and of lent slots of a set."""

    cookies: int
    lent: int


class ListedCookie(NamedTuple):
    """A cookie without its value; `expires_at` None: with the session."""

    name: str
    domain: str
    path: str
    is_host_only: bool
    is_secure: bool
    expires_at: float | None


class StoredJar(NamedTuple):
    """Cookies of a set that changed after a version, with their sealed values; None: it was deleted."""

    uploads: int
    version: int
    cookies: list[tuple[Cookie, SealContext, SealedValue | None]]


class CookieSetStore:
    """1. Uploading replaces all cookies of a set, in one transaction with its audit entry. 2. A slot is a
    row: to borrow is to take a free one, with a new token, until its term ends; the rows are the limit. 3. A
    token that is not renewed in time, or was given back, renews and changes nothing. 4. The set that was used
    least recently is lent first. 5. Cookies change one by one, each as a version of the set, by the holder of
    a token that knows the last upload. 6. Requests are reported as totals of a token: sent twice, counted
    once. 7. Lending is in the audit, with who borrowed. 8. Values are sealed, each for its cookie and its
    version.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    def now(self) -> float:
        """Return store time, in which cookies end."""
        return self._db.now()

    async def upload(
        self,
        new: NewCookieSet,
        seal: SealCookie,
        *,
        actor: str,
        default_slots: int,
        check_owner: Callable[[CookieSet], None],
    ) -> CookieSet:
        """Add a set of cookies, or replace those of the set with its name, if `check_owner` accepts it."""

        def work(connection: Connection) -> CookieSet:
            now, found = self._db.now(), row(connection, SQL.named, (new.name,)) if new.name else None
            if found is None:
                if one(connection, SQL.count) >= MAX_SETS:
                    raise NotAllowed(f"there are {MAX_SETS} sets of cookies, the maximum")
                rule = msgspec.json.encode(new.signed_out or SignedOutRule()).decode()
                slots, check_url = new.slots or default_slots, new.check_url or ""
                values = (new.domain, new.name, actor, int(bool(new.is_shared)), slots, check_url, rule, now)
                id_ = one(connection, SQL.add, values)
            else:
                before = _get(connection, found[0])
                check_owner(before)
                id_, slots = before.id, new.slots or before.slots
                is_shared = before.is_shared if new.is_shared is None else new.is_shared
                check_url = before.check_url if new.check_url is None else new.check_url
                rule = msgspec.json.encode(new.signed_out or before.signed_out).decode()
                connection.execute(SQL.change, (id_, int(is_shared), slots, check_url, rule, now))
                _delete_cookies(connection, id_)
            connection.executemany(SQL.add_slot, [(id_, number) for number in range(slots)])
            connection.execute(SQL.delete_slots, (id_, slots))
            stored = _get(connection, id_)
            _put_cookies(connection, id_, stored.version, new.cookies, seal)
            detail = {"domain": stored.domain, "name": stored.name, "cookies": len(new.cookies)}
            audit.write(connection, now, actor, "cookies.uploaded", f"cookies:{id_}", **detail)
            return stored

        return await self._db.write(work)

    async def get(self, id_: int) -> CookieSet:
        """Return a set; raise `NotFound` if there is none."""
        return await self._db.read(lambda connection: _get(connection, id_))

    async def id_of_name(self, name: str) -> int | None:
        """Return the id of the set with a name."""
        found = await self._db.fetch(SQL.named, (name,))
        return int(found[0][0]) if found else None

    async def find(self, *, domain: str | None = None, after: int = 0, limit: int = 100) -> list[CookieSet]:
        """Return sets of a domain, or all, in the order of their ids."""
        if domain is None:
            return [_set(found) for found in await self._db.fetch(SQL.cookie_sets, (after, limit))]
        return [_set(found) for found in await self._db.fetch(SQL.of_domain, (domain, after, limit))]

    async def states(self) -> dict[str, int]:
        """Return the number of sets by state."""
        return {state: int(number) for state, number in await self._db.fetch(SQL.states)}

    async def usage(self, ids: Sequence[int]) -> dict[int, SetUsage]:
        """Return how many living cookies and lent slots sets have."""
        if not ids:
            return {}
        between = (min(ids), max(ids), self._db.now())
        living = {set_id: int(number) for set_id, number in await self._db.fetch(SQL.living, between)}
        lent = {set_id: int(number) for set_id, number in await self._db.fetch(SQL.lent, between)}
        return {id_: SetUsage(living.get(id_, 0), lent.get(id_, 0)) for id_ in ids}

    async def cookies(self, id_: int) -> list[ListedCookie]:
        """Return the living cookies of a set, without their values."""
        found = await self._db.fetch(SQL.listed, (id_, self._db.now()))
        return [
            ListedCookie(
                bytes(name).decode(errors="replace"),
                domain,
                bytes(path).decode(errors="replace"),
                bool(is_host_only),
                bool(is_secure),
                expires_at,
            )
            for name, domain, path, is_host_only, is_secure, expires_at in found
        ]

    async def usable_domain(self, domains: Sequence[str], owner: str | None) -> str | None:
        """Return the first of some domains for which an owner has sets, whatever their state."""

        def work(connection: Connection) -> str | None:
            for domain in domains:
                if row(connection, SQL.has_usable, (domain, _owner(owner))) is not None:
                    return domain
            return None

        return await self._db.read(work)

    async def has_active(self, domain: str, owner: str | None) -> bool:
        """Return whether an owner has an active set for a domain."""
        return bool(await self._db.fetch(SQL.has_active, (domain, _owner(owner))))

    async def to_check(self, checked_before: float, used_after: float, limit: int) -> list[int]:
        """Return active sets with a page to check that are due, the longest unchecked first."""
        found = await self._db.fetch(SQL.to_check, (checked_before, used_after, limit))
        return [int(id_) for (id_,) in found]

    async def delete(self, id_: int, *, actor: str) -> None:
        """Delete a set with its cookies. Its lent slots cannot be renewed."""

        def work(connection: Connection) -> None:
            found = _get(connection, id_)
            _delete_cookies(connection, id_)
            connection.execute(SQL.delete_slots, (id_, 0))
            connection.execute(SQL.delete, (id_,))
            subject, detail = f"cookies:{id_}", {"domain": found.domain, "name": found.name}
            audit.write(connection, self._db.now(), actor, "cookies.deleted", subject, **detail)

        await self._db.write(work)

    async def set_state(self, id_: int, state: CookieState, reason: str, *, actor: str) -> CookieSet:
        """Lock a set, or activate it again."""

        def work(connection: Connection) -> CookieSet:
            _get(connection, id_)
            self._set_state(connection, id_, state, reason, actor)
            return _get(connection, id_)

        return await self._db.write(work)

    async def checked(
        self, id_: int, uploads: int, is_known: bool | None, reason: str, *, actor: str
    ) -> CookieSet:
        """Note a check: whether the site knows the login, or None if that was not found out. Cookies that
        were uploaded since are not affected.
        """

        def work(connection: Connection) -> CookieSet:
            found = _get(connection, id_)
            connection.execute(SQL.checked, (id_, self._db.now()))
            if found.uploads == uploads and found.state != "locked" and is_known is not None:
                state: CookieState = "active" if is_known else "invalid"
                if state != found.state:
                    self._set_state(connection, id_, state, reason, actor)
            return _get(connection, id_)

        return await self._db.write(work)

    async def borrow(
        self,
        wanted: Wanted,
        *,
        holder: str,
        borrower: str,
        term_s: float,
        is_alive: Callable[[str], bool] | None = None,
    ) -> CookieLease | None:
        """Lend a free slot for a term; None if there is none. Slots of holders that ended are freed first."""

        def work(connection: Connection) -> CookieLease | None:
            now = self._db.now()
            found = _free_slot(connection, wanted, now)
            if found is None and is_alive is not None:
                busy = rows(connection, SQL.holders, (wanted.domain, wanted.set_id, now))
                dead = [name for (name,) in busy if name != holder and not is_alive(name)]
                for name in dead:
                    connection.execute(SQL.free_holder, (name,))
                found = _free_slot(connection, wanted, now) if dead else None
            if found is None:
                want = (SQL.want_set, wanted.set_id) if wanted.set_id else (SQL.want, wanted.domain)
                connection.execute(want[0], (want[1], now))
                return None
            set_id, number, slots = found
            token = secrets.token_hex(16)
            connection.execute(SQL.take_slot, (set_id, number, token, holder, now + term_s, now))
            if not wanted.is_check:
                connection.execute(SQL.used, (set_id, now))
            audit.write(connection, now, borrower, "cookies.lent", f"cookies:{set_id}", slot=number)
            return CookieLease(token, set_id, slots > 1)

        lease = await self._db.write(work)
        reach("cookies.lent")
        return lease

    async def renew(self, requests: Mapping[str, int], *, term_s: float) -> dict[str, bool]:
        """Lend slots for another term, with the requests sent so far, by token. Return those that were
        renewed, and whether each should be given back soon: another borrower waits for one.
        """

        def work(connection: Connection) -> dict[str, bool]:
            now, renewed = self._db.now(), {}
            for token, sent in requests.items():
                found = row(connection, SQL.leased, (token, now))
                if found is None:
                    continue
                set_id, counted, since, state, wanted_at, _ = found
                _count(connection, set_id, sent - counted, now)
                if state == "active":
                    connection.execute(SQL.renew, (token, now + term_s, sent))
                    renewed[token] = now - since >= GIVES_WAY_S and wanted_at >= since
                else:
                    connection.execute(SQL.give_back, (token,))
            return renewed

        return await self._db.write(work)

    async def give_back(self, requests: Mapping[str, int]) -> None:
        """Give slots back, with the requests sent by token."""

        def work(connection: Connection) -> None:
            now = self._db.now()
            for token, sent in requests.items():
                found = row(connection, SQL.leased, (token, now))
                if found is not None:
                    _count(connection, found[0], sent - found[1], now)
                    connection.execute(SQL.give_back, (token,))

        await self._db.write(work)

    async def report_invalid(self, token: str, uploads: int, reason: str, *, actor: str) -> CookieSet | None:
        """Set aside the set of a token: its site no longer knows the login. Return it; None if the token is
        over, or other cookies were uploaded since, or it was set aside already.
        """

        def work(connection: Connection) -> CookieSet | None:
            found = row(connection, SQL.leased, (token, self._db.now()))
            if found is None or found[5] != uploads or found[3] != "active":
                return None
            self._set_state(connection, found[0], "invalid", reason, actor)
            return _get(connection, found[0])

        return await self._db.write(work)

    async def versions(self, id_: int) -> tuple[int, int] | None:
        """Return the number of uploads and the version of a set; None if it was deleted."""
        found = await self._db.fetch(SQL.versions, (id_,))
        return (int(found[0][0]), int(found[0][1])) if found else None

    async def read_jar(self, id_: int, *, after: int = 0, uploads: int = 0) -> StoredJar:
        """Return the cookies of a set that changed after a version; all of them after another upload."""

        def work(connection: Connection) -> StoredJar:
            found = _get(connection, id_)
            since = after if found.uploads == uploads else 0
            installation = installation_of(connection)
            cookies = [_stored(installation, each) for each in rows(connection, SQL.jar, (id_, since))]
            return StoredJar(found.uploads, found.version, cookies)

        return await self._db.read(work)

    async def write_jar(
        self, token: str, uploads: int, cookies: Iterable[Cookie], seal: SealCookie
    ) -> int | None:
        """Store cookies that the holder of a token received, and return their version. None: the token is
        over, or other cookies were uploaded since, and nothing changed.
        """

        def work(connection: Connection) -> int | None:
            found = row(connection, SQL.leased, (token, self._db.now()))
            if found is None or found[5] != uploads:
                return None
            set_id = found[0]
            version = int(one(connection, SQL.next_version, (set_id,)))
            _put_cookies(connection, set_id, version, cookies, seal)
            connection.execute(SQL.set_version, (set_id, version))
            if version % PURGE_EVERY == 0:
                connection.execute(SQL.purge, (set_id, version - KEPT_VERSIONS))
            return version

        version = await self._db.write(work)
        reach("cookies.stored")
        return version

    def _set_state(
        self, connection: Connection, id_: int, state: CookieState, reason: str, actor: str
    ) -> None:
        now = self._db.now()
        connection.execute(SQL.set_state, (id_, state, reason, now))
        audit.write(connection, now, actor, f"cookies.{state}", f"cookies:{id_}", reason=reason)


def _free_slot(connection: Connection, wanted: Wanted, now: float) -> tuple[int, int, int] | None:
    if wanted.set_id:
        values = (wanted.set_id, _owner(wanted.owner), now, int(wanted.is_check))
        found = row(connection, SQL.free_slot_of_set, values)
    else:
        found = row(connection, SQL.free_slot, (wanted.domain, _owner(wanted.owner), now))
    return None if found is None else (int(found[0]), int(found[1]), int(found[2]))


def _owner(owner: str | None) -> str:
    return ANYBODY if owner is None else owner


def _count(connection: Connection, set_id: int, requests: int, now: float) -> None:
    if requests > 0:
        connection.execute(SQL.count_usage, (set_id, requests, now))


def _put_cookies(
    connection: Connection, set_id: int, version: int, cookies: Iterable[Cookie], seal: SealCookie
) -> None:
    last: dict[CookieKey, Cookie] = {cookie.key: cookie for cookie in cookies}
    for cookie in last.values():
        path = cookie.path.encode(errors="surrogateescape")
        found = row(connection, SQL.stored_cookie, (set_id, cookie.domain, path, cookie.name))
        expires_at = None if cookie.expires_at == FOREVER else cookie.expires_at
        flags = (int(cookie.is_host_only), int(cookie.is_secure), expires_at)
        if found is None:
            key = (set_id, cookie.domain, path, cookie.name)
            id_ = one(connection, SQL.add_cookie, (*key, version, cookie.number, cookie.set_at, *flags))
        elif found[1] > cookie.set_at:
            continue  # another worker received a later one
        else:
            id_ = found[0]
            connection.execute(SQL.change_cookie, (id_, version, cookie.number, cookie.set_at, *flags))
        if cookie.is_deleted:
            delete_sealed(connection, COOKIE, id_)
        else:
            put_sealed(connection, COOKIE, id_, version, seal(cookie))


def _delete_cookies(connection: Connection, set_id: int) -> None:
    for (id_,) in rows(connection, SQL.cookie_ids, (set_id,)):
        delete_sealed(connection, COOKIE, id_)
    connection.execute(SQL.delete_cookies, (set_id,))


def _stored(installation: str, found: tuple[Any, ...]) -> tuple[Cookie, SealContext, SealedValue | None]:
    id_, domain, path, name, version, number, set_at, is_host_only, is_secure, expires_at, *sealed = found
    cookie = Cookie(
        domain,
        bytes(path).decode(errors="surrogateescape"),
        bytes(name),
        b"",
        number,
        set_at,
        bool(is_host_only),
        bool(is_secure),
        FOREVER if expires_at is None else expires_at,
    )
    value = None if sealed[0] is None else SealedValue(sealed[0], bytes(sealed[1]), bytes(sealed[2]))
    return cookie, SealContext(installation, COOKIE, id_, version), value


def _get(connection: Connection, id_: int) -> CookieSet:
    found = row(connection, SQL.cookie_set, (id_,))
    if found is None:
        raise NotFound(f"there are no cookies {id_}", hint="`smartspider cookie list` shows all ids")
    return _set(found)


def _set(found: Collection[Any]) -> CookieSet:
    names = CookieSet.__struct_fields__
    values = dict(zip(names, found, strict=True))
    values["is_shared"] = bool(values["is_shared"])
    values["signed_out"] = msgspec.json.decode(values["signed_out"], type=SignedOutRule)
    return CookieSet(**values)
