"""The vault of an installation: secrets are encrypted here and stored sealed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

import msgspec

from smartspider.backends.sqlite.worker_locks import FileLock, is_alive
from smartspider.core.cookies.jar import Cookie
from smartspider.core.cookies.sets import NUMBER_OF_SLOTS, CookieLease, CookieSet
from smartspider.core.errors import SettingInvalid, StoreUnavailable
from smartspider.core.proxies import ProxyRecord, ProxyUrl
from smartspider.core.vault import SealedKind, SealedValue, SecretRecord
from smartspider.installation.envelope import NotOpened, rewrap, seal, unseal
from smartspider.installation.keys import FILE, KeyRing, begin_rotation, end_rotation
from smartspider.store.cookie_sets import CookieSetStore, NewCookieSet, SealCookie, Wanted
from smartspider.store.database import Database
from smartspider.store.proxies import ProxyStore
from smartspider.store.vault import Seal, SealContext, VaultStore

MANY = 20
"""Damaged values that are named."""


class VaultStatus(msgspec.Struct, frozen=True):
    """The sealed values by master key; `key_id` is the current one."""

    key_id: str
    current: int
    old: int
    """Values that the old master key opens: `vault rotate` rewraps them."""
    lost: int
    """Values that no known master key opens."""


class DamagedValue(msgspec.Struct, frozen=True):
    """A sealed value that does not open."""

    kind: SealedKind
    id: int


class OpenedJar(msgspec.Struct, frozen=True):
    """Cookies of a set that changed after a version, with their values."""

    uploads: int
    version: int
    cookies: Sequence[Cookie]


class Vault:
    """Seals and opens values with the master keys.

    `folder` is the data folder that has its own master key; None if the settings give it. `borrowers` is
    the folder of the lock files of those who borrow cookies; None: whether they still run cannot be seen.
    """

    def __init__(
        self,
        database: Database,
        folder: Path | None,
        open_ring: Callable[[], KeyRing],
        *,
        borrowers: Path | None = None,
    ) -> None:
        self.store = VaultStore(database)
        self.proxies = ProxyStore(database)
        self.cookies = CookieSetStore(database)
        self._borrowers = borrowers
        self._folder = folder
        self._open_ring = open_ring
        self._ring: KeyRing | None = None
        self._read_at: tuple[int, ...] = ()
        """The stamp of the files that the ring was read from."""

    async def check(self) -> None:
        """Raise `SettingInvalid` if there are sealed values that the master keys do not open."""
        await self._read_ring()

    async def set_secret(
        self,
        name: str,
        value: str,
        *,
        actor: str,
        is_shared: bool | None = None,
        check_owner: Callable[[str], None] = lambda _: None,
    ) -> SecretRecord:
        """Add a named secret, or replace its value; see `VaultStore.set_secret`."""
        return await self.store.set_secret(
            name, await self._sealing(value), actor=actor, is_shared=is_shared, check_owner=check_owner
        )

    async def add_proxy(self, pool: str, proxy: ProxyUrl, weight: float, *, actor: str) -> ProxyRecord:
        """Add a proxy to a pool; see `ProxyStore.add`."""
        seal_url = await self._sealing(proxy.url)
        return await self.proxies.add(pool, proxy, weight, seal_url, actor=actor)

    async def open_proxies(self, ids: Collection[int], *, opened_by: str) -> dict[int, str]:
        """Return the URLs of the proxies that there are, by id; see `ProxyStore.open`."""
        ring = await self._read_ring()
        found = await self.proxies.open(ids, opened_by=opened_by)
        return {context.id: _text(ring, context, sealed) for context, sealed in found}

    async def upload_cookies(
        self,
        new: NewCookieSet,
        *,
        actor: str,
        default_slots: int = NUMBER_OF_SLOTS,
        check_owner: Callable[[CookieSet], None] = lambda _: None,
    ) -> CookieSet:
        """Add a set of cookies, or replace those of the set with its name; see `CookieSetStore.upload`."""
        return await self.cookies.upload(
            new,
            await self._sealing_cookies(),
            actor=actor,
            default_slots=default_slots,
            check_owner=check_owner,
        )

    @contextmanager
    def borrower(self) -> Iterator[str]:
        """Return the name of a borrower of cookies, whose slots are freed once its process has ended."""
        name = token_hex(8)
        if self._borrowers is None:
            yield name
            return
        lock = FileLock(self._borrowers / f"{name}.lock")
        lock.acquire()
        try:
            yield name
        finally:
            lock.release(remove=True)

    async def borrow(
        self, wanted: Wanted, *, holder: str, borrower: str, term_s: float
    ) -> CookieLease | None:
        """Lend a slot of a set of cookies; see `CookieSetStore.borrow`."""
        return await self.cookies.borrow(
            wanted,
            holder=holder,
            borrower=borrower,
            term_s=term_s,
            is_alive=None if self._borrowers is None else self._still_runs,
        )

    def _still_runs(self, borrower: str) -> bool:
        assert self._borrowers is not None  # noqa: S101 - asked only if there are lock files
        path = self._borrowers / f"{borrower}.lock"
        if is_alive(path):
            return True
        path.unlink(missing_ok=True)
        return False

    async def open_jar(self, set_id: int, *, after: int = 0, uploads: int = 0) -> OpenedJar:
        """Return cookies of a set with their values, for a borrower; see `CookieSetStore.read_jar`."""
        found = await self.cookies.read_jar(set_id, after=after, uploads=uploads)
        ring = await self._read_ring()
        try:
            cookies = [
                cookie
                if sealed is None
                else msgspec.structs.replace(cookie, value=unseal(ring, _bytes(context), sealed))
                for cookie, context, sealed in found.cookies
            ]
        except NotOpened:
            raise SettingInvalid(
                f"cookies {set_id} do not open: they were altered, or moved from another record",
                hint="`smartspider vault verify` names them; upload them again",
            ) from None
        return OpenedJar(found.uploads, found.version, cookies)

    async def write_jar(self, token: str, uploads: int, cookies: Iterable[Cookie]) -> int | None:
        """Store cookies that a borrower received; see `CookieSetStore.write_jar`."""
        return await self.cookies.write_jar(token, uploads, cookies, await self._sealing_cookies())

    async def _sealing_cookies(self) -> SealCookie:
        keys = (await self._read_ring(is_fresh=True)).current
        return lambda cookie: lambda context: seal(keys, _bytes(context), cookie.value)

    async def _sealing(self, value: str) -> Seal:
        keys = (await self._read_ring(is_fresh=True)).current
        return lambda context: seal(keys, _bytes(context), value.encode("utf-8", "surrogatepass"))

    async def open_secrets(
        self, names: Collection[str], *, owner: str | None, opened_by: str
    ) -> dict[str, str]:
        """Return the values of the names that have one; see `VaultStore.open_secrets`."""
        if not names or not await self.store.has_any(names):
            return {}
        ring = await self._read_ring()
        found = await self.store.open_secrets(names, owner=owner, opened_by=opened_by)
        return {one.record.name: _text(ring, one.context, one.sealed) for one in found}

    async def status(self) -> VaultStatus:
        """Count the sealed values by master key."""
        ring, counts = await self._read_ring(is_checked=False), await self.store.count_by_key()
        current = counts.pop(ring.current.key_id, 0)
        old = counts.pop(ring.old.key_id, 0) if ring.old is not None else 0
        return VaultStatus(ring.current.key_id, current, old, sum(counts.values()))

    async def verify(self) -> tuple[int, list[DamagedValue]]:
        """Open every value. Return how many there are, and the first of those that do not open."""
        ring, after, checked = await self._read_ring(), ("", 0), 0
        damaged: list[DamagedValue] = []
        while found := await self.store.read_sealed(after):
            for context, record in found:
                try:
                    unseal(ring, _bytes(context), record.sealed)
                except NotOpened:
                    damaged.append(DamagedValue(record.kind, record.id))
            checked += len(found)
            after = (found[-1][1].kind, found[-1][1].id)
        return checked, damaged[:MANY]

    async def rotate(self, *, actor: str) -> int:
        """Rewrap all values with the current master key, and return how many.

        A data folder gets a new key first, and its old one is deleted at the end. Interrupted, it goes on
        where it was.
        """
        ring = await self._read_ring(is_fresh=True)
        if self._folder is not None:
            begin_rotation(self._folder)
            ring = await self._read_ring(is_fresh=True)
        rewrapped = 0
        while count := await self.store.rewrap(
            ring.current.key_id, lambda context, value: _rewrapped(ring, context, value), actor=actor
        ):
            rewrapped += count
        if self._folder is not None:
            end_rotation(self._folder)
        return rewrapped

    async def _read_ring(self, *, is_fresh: bool = False, is_checked: bool = True) -> KeyRing:
        """Return the master keys, read again if a value needs another one: it may have been rotated."""
        needed, stamp = await self.store.key_ids(), self._stamp()
        if self._ring is None or (is_fresh and stamp != self._read_at) or not _opens(self._ring, needed):
            self._ring = self._open_ring()
            self._read_at = stamp
        if is_checked and not _opens(self._ring, needed):
            setting = "SMARTSPIDER_MASTER_KEY" if self._folder is None else str(self._folder / FILE)
            raise SettingInvalid(
                f"{setting} is not the key that the vault is sealed with",
                hint="restore that key; to replace it, also set SMARTSPIDER_MASTER_KEY_OLD to it, and run"
                " `smartspider vault rotate`",
            )
        return self._ring

    def _stamp(self) -> tuple[int, ...]:
        """Return what changes when another key takes the place of the one in the data folder."""
        if self._folder is None:
            return ()
        with suppress(FileNotFoundError):
            found = (self._folder / FILE).stat()
            return found.st_ino, found.st_mtime_ns, found.st_size
        return ()


def _opens(ring: KeyRing, needed: set[str]) -> bool:
    return all(ring.find(key_id) is not None for key_id in needed)


def _text(ring: KeyRing, context: SealContext, sealed: SealedValue) -> str:
    try:
        return unseal(ring, _bytes(context), sealed).decode("utf-8", "surrogatepass")
    except NotOpened:
        raise StoreUnavailable(
            f"a {context.kind} of the vault does not open: it was altered, or moved from another record",
            hint="`smartspider vault verify` names it; set it again",
        ) from None


def _rewrapped(ring: KeyRing, context: SealContext, value: SealedValue) -> SealedValue:
    try:
        return rewrap(ring, _bytes(context), value)
    except NotOpened:
        raise StoreUnavailable(
            f"{context.kind} {context.id} of the vault does not open, so it cannot be rewrapped",
            hint="set it again or delete it, and rotate again: the rest goes on where it was",
        ) from None


def _bytes(context: SealContext) -> bytes:
    return f"{context.installation}/{context.kind}/{context.id}/{context.version}".encode()
