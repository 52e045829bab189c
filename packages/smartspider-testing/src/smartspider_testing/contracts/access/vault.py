"""The contract of `store/vault.py`; tests name the promise they check."""

from __future__ import annotations

import pytest

from smartspider.core.errors import Forbidden, NotFound
from smartspider.core.vault import SealedValue
from smartspider.store.vault import SealContext
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.crashes import SimulatedCrash, crash_at


class Sealer:
    """Seals a value in plain, and notes what it is bound to."""

    def __init__(self, value: bytes = b"v", key_id: str = "one") -> None:
        self.value, self.key_id = value, key_id
        self.contexts: list[SealContext] = []

    def __call__(self, context: SealContext) -> SealedValue:
        """Note what a value is bound to, and return it."""
        self.contexts.append(context)
        return SealedValue(self.key_id, b"key", self.value)


def rewrapped(_: SealContext, value: SealedValue) -> SealedValue:
    """Wrap a data key by the master key `two`."""
    return SealedValue("two", value.data_key + b"!", value.value)


def refuse(owner: str) -> None:
    """Refuse to change what an owner has."""
    raise Forbidden(f"{owner} owns this")


class VaultStoreContract(BackendContract):
    """A vault store keeps named secrets and sealed values."""

    async def test_a_secret_is_bound_to_its_record_and_version(self, backend: Backend) -> None:
        """Vault store 1, 2: what is read is bound to the same as what was sealed."""
        first, second, other = Sealer(b"a"), Sealer(b"b"), Sealer(b"c")
        made = await backend.vault.set_secret("TOKEN", first, actor="ann")
        again = await backend.vault.set_secret("TOKEN", second, actor="ann", is_shared=True)
        await backend.vault.set_secret("OTHER", other, actor="ann")
        assert (made.id, made.version, made.is_shared) == (again.id, 1, False)
        assert (again.version, again.is_shared) == (2, True)
        (found,) = await backend.vault.open_secrets(["TOKEN"], owner="ann", opened_by="run:7")
        assert (found.context, found.sealed.value) == (second.contexts[0], b"b")
        assert found.record == again
        contexts = [*first.contexts, *second.contexts, *other.contexts]
        assert len({(one.kind, one.id, one.version) for one in contexts}) == 3
        assert len({one.installation for one in contexts}) == 1
        kept = await backend.vault.set_secret("TOKEN", first, actor="ann")
        assert kept.is_shared

    async def test_a_secret_is_used_by_its_owner_unless_it_is_shared(self, backend: Backend) -> None:
        """Vault store 3."""
        await backend.vault.set_secret("OWN", Sealer(), actor="ann")
        await backend.vault.set_secret("ALL", Sealer(), actor="ann", is_shared=True)
        for owner in ("ann", None):
            found = await backend.vault.open_secrets(["OWN", "ALL", "NO"], owner=owner, opened_by="x")
            assert [one.record.name for one in found] == ["ALL", "OWN"]
        found = await backend.vault.open_secrets(["ALL"], owner="bob", opened_by="x")
        assert [one.record.name for one in found] == ["ALL"]
        with pytest.raises(Forbidden, match="OWN"):
            await backend.vault.open_secrets(["ALL", "OWN"], owner="bob", opened_by="x")

    async def test_changes_and_uses_are_in_the_audit(self, backend: Backend) -> None:
        """Vault store 1, 3: with who opened it, and without the value."""
        await backend.vault.set_secret("TOKEN", Sealer(b"canary"), actor="ann")
        await backend.clock.advance(5.0)
        await backend.vault.open_secrets(["TOKEN"], owner="ann", opened_by="run:7")
        assert (await backend.vault.get_secret("TOKEN")).used_at == backend.clock.now()
        with pytest.raises(Forbidden):
            await backend.vault.set_secret("TOKEN", Sealer(), actor="bob", check_owner=refuse)
        await backend.vault.delete_secret("TOKEN", actor="ann")
        with pytest.raises(NotFound, match="TOKEN"):
            await backend.vault.get_secret("TOKEN")
        entries = [one for one in await audit_rows(backend) if one[1].startswith("secret.")]
        assert [(one[0], one[1], one[2]) for one in entries] == [
            ("ann", "secret.set", "secret:TOKEN"),
            ("run:7", "secret.opened", "secret:TOKEN"),
            ("ann", "secret.deleted", "secret:TOKEN"),
        ]
        assert "canary" not in str(entries)
        assert await backend.vault.read_sealed() == []

    async def test_secrets_are_listed_by_name(self, backend: Backend) -> None:
        """Vault store 5."""
        for name in ("B", "a", "A1", "C"):
            await backend.vault.set_secret(name, Sealer(), actor="ann")
        first = await backend.vault.find_secrets(limit=2)
        rest = await backend.vault.find_secrets(after=first[-1].name)
        assert [one.name for one in (*first, *rest)] == ["A1", "B", "C", "a"]
        assert await backend.vault.has_any(["x", "B"])
        assert not await backend.vault.has_any(["x", "b"])

    async def test_a_rotation_that_is_interrupted_goes_on(self, backend: Backend) -> None:
        """Vault store 4: what was committed stays, and no value changes."""
        for number in range(5):
            await backend.vault.set_secret(f"S{number}", Sealer(b"v%d" % number), actor="ann")
        assert await backend.vault.count_by_key() == {"one": 5}
        assert await backend.vault.key_ids() == {"one"}
        assert await backend.vault.rewrap("two", rewrapped, actor="ann", limit=2) == 2
        crash_at("vault.rewrapped")
        with pytest.raises(SimulatedCrash):
            await backend.vault.rewrap("two", rewrapped, actor="ann", limit=2)
        assert await backend.vault.count_by_key() == {"one": 3, "two": 2}
        assert await backend.vault.key_ids() == {"one", "two"}
        while await backend.vault.rewrap("two", rewrapped, actor="ann", limit=2):
            pass
        assert await backend.vault.count_by_key() == {"two": 5}
        found = await backend.vault.read_sealed(limit=3)
        found += await backend.vault.read_sealed((found[-1][1].kind, found[-1][1].id))
        assert [one.sealed for _, one in found] == [
            SealedValue("two", b"key!", b"v%d" % number) for number in range(5)
        ]
