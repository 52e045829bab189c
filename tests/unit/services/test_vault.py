"""Encryption of the vault: what is sealed opens only where it was sealed, with the key it was sealed with."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.core.access import Principal
from smartspider.core.errors import SettingInvalid, SmartSpiderError, StoreUnavailable
from smartspider.installation import keys
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings
from smartspider.interfaces.secret_source import OWN_COMMAND, SecretUse
from smartspider.services.identities import vault
from smartspider.wiring.opening import open_folder
from smartspider_testing.crashes import SimulatedCrash, crash_at

CANARY = "canary-5d1f"
KEYS = ("the first long master key", "the second long master key")


@contextmanager
def opened(path: Path, key: str = "", old: str = "", vault: str = "") -> Iterator[Installation]:
    settings = Settings(master_key=key, master_key_old=old, vault=vault)
    with open_folder(path, settings=settings, shares_gates=False) as folder:
        yield folder


async def filled(installation: Installation, count: int = 3) -> dict[str, str]:
    """Set some secrets; return their values."""
    values = {f"S{number}": f"{CANARY} {number} ü\n" for number in range(count)}
    for name, value in values.items():
        await installation.vault.set_secret(name, value, actor="ann")
    return values


async def values_of(installation: Installation, names: dict[str, str]) -> dict[str, str]:
    return await installation.vault.open_secrets(names, owner="ann", opened_by="test")


def key_files(path: Path) -> set[str]:
    return {one.name for one in path.iterdir() if "key" in one.name}


def holds(path: Path, text: bytes) -> list[Path]:
    return [one for one in path.rglob("*") if one.is_file() and text in one.read_bytes()]


def execute(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path / FILE)) as connection:
        connection.execute(sql)
        connection.commit()


@pytest.mark.parametrize("key", ["", KEYS[0]])
async def test_values_are_whole_again_and_stand_in_no_file(tmp_path: Path, key: str) -> None:
    with opened(tmp_path, key) as folder:
        values = await filled(folder)
        assert await values_of(folder, values) == values
        assert await folder.vault.verify() == (3, [])
    with opened(tmp_path, key) as folder:
        assert await values_of(folder, values) == values
    assert holds(tmp_path, CANARY.encode()) == []


MOVES = {
    "another record": "UPDATE sealed SET value = (SELECT value FROM sealed WHERE id = 2),"
    " data_key = (SELECT data_key FROM sealed WHERE id = 2) WHERE id = 1",
    "another version": "UPDATE secret SET version = version + 1 WHERE id = 1",
    "another installation": "UPDATE vault SET id = 'other'",
    "a byte less": "UPDATE sealed SET value = substr(value, 2) WHERE id = 1",
    "a changed key": "UPDATE sealed SET data_key = zeroblob(60) WHERE id = 1",
    "nothing": "UPDATE sealed SET value = x'' WHERE id = 1",
}


@pytest.mark.parametrize("sql", MOVES.values(), ids=MOVES)
async def test_a_value_that_was_moved_or_altered_is_refused(tmp_path: Path, sql: str) -> None:
    with opened(tmp_path) as folder:
        values = await filled(folder)
    execute(tmp_path, sql)
    with opened(tmp_path) as folder:
        with pytest.raises(StoreUnavailable, match="does not open") as caught:
            await values_of(folder, values)
        assert CANARY not in caught.value.line
        if "secret SET" not in sql:  # it is what the row says that was sealed
            checked, damaged = await folder.vault.verify()
            assert (checked, damaged[0].id) == (3, 1)
        if "data_key" in sql:
            with pytest.raises(StoreUnavailable, match="secret 1 of the vault does not open"):
                await folder.vault.rotate(actor="ann")


async def refused(work: Callable[[], Awaitable[object]]) -> str:
    with pytest.raises(SettingInvalid) as caught:
        await work()
    assert "\n" not in caught.value.line
    return caught.value.line


async def test_a_missing_or_other_master_key_is_refused_in_one_line(tmp_path: Path) -> None:
    """And no key is made in place of a lost one."""
    with opened(tmp_path) as folder:
        values = await filled(folder)
    key = (tmp_path / keys.FILE).read_text()
    (tmp_path / keys.FILE).unlink()

    with pytest.raises(SettingInvalid, match=keys.FILE), opened(tmp_path):
        pass
    assert not (tmp_path / keys.FILE).exists()
    with opened(tmp_path, KEYS[0]) as folder:
        for work in (folder.check_keys, lambda: values_of(folder, values), lambda: filled(folder)):
            assert "SMARTSPIDER_MASTER_KEY is not the key" in await refused(work)
        assert (await folder.vault.status()).lost == 3
    (tmp_path / keys.FILE).write_text("0" * 64)
    with opened(tmp_path) as folder:
        assert "is not the key" in await refused(folder.check_keys)
    (tmp_path / keys.FILE).write_text(key)
    with opened(tmp_path) as folder:
        await folder.check_keys()
        assert await values_of(folder, values) == values


async def test_the_key_of_a_folder_is_replaced_while_others_use_it(tmp_path: Path) -> None:
    with opened(tmp_path) as server, opened(tmp_path) as command:
        values = await filled(server)
        before = (tmp_path / keys.FILE).read_text()
        assert await command.vault.rotate(actor="ann") == 3
        assert (tmp_path / keys.FILE).read_text() != before
        assert await values_of(server, values) == values
        await server.vault.set_secret("NEW", "v", actor="ann")
        assert await values_of(command, {"NEW": ""}) == {"NEW": "v"}
        status = await command.vault.status()
        assert (status.current, status.old, status.lost) == (4, 0, 0)
    assert key_files(tmp_path) == {keys.FILE}


@pytest.mark.parametrize("crash", [1, 2])
async def test_a_rotation_of_a_folder_that_was_killed_goes_on(tmp_path: Path, crash: int) -> None:
    """Whichever batch it was; with the old key aside, all values open meanwhile."""
    with opened(tmp_path) as folder:
        values = await filled(folder, 5)
        crash_at("vault.rewrapped", crash)
        with pytest.raises(SimulatedCrash):
            await folder.vault.rotate(actor="ann")
    with opened(tmp_path) as folder:
        assert (tmp_path / keys.OLD_FILE).exists()
        assert await values_of(folder, values) == values
        await folder.vault.rotate(actor="ann")
        assert await values_of(folder, values) == values
        assert (await folder.vault.status()).current == 5
    assert not (tmp_path / keys.OLD_FILE).exists()


async def test_the_files_of_a_rotation_can_be_left_at_any_step(tmp_path: Path) -> None:
    """Before the new key is there, the old one is both."""
    with opened(tmp_path) as folder:
        values = await filled(folder)
    (tmp_path / keys.OLD_FILE).write_text((tmp_path / keys.FILE).read_text())
    with opened(tmp_path) as folder:
        assert await values_of(folder, values) == values
        assert await folder.vault.rotate(actor="ann") == 3
        assert await values_of(folder, values) == values


async def test_the_key_of_the_settings_is_replaced_by_naming_the_old_one(tmp_path: Path) -> None:
    with opened(tmp_path, KEYS[0]) as folder:
        values = await filled(folder)
    with opened(tmp_path, KEYS[1], old=KEYS[0]) as folder:
        assert await values_of(folder, values) == values
        assert (await folder.vault.status()).old == 3
        assert await folder.vault.rotate(actor="ann") == 3
        assert await folder.vault.rotate(actor="ann") == 0
    with opened(tmp_path, KEYS[1]) as folder:
        assert await values_of(folder, values) == values


async def test_commands_of_a_person_find_secrets_of_the_server_and_tasks_of_others_do_not(
    tmp_path: Path,
) -> None:
    server, own = tmp_path / "server", tmp_path / "own"
    with opened(server) as folder:
        values = await filled(folder, 1)
    with opened(own, vault=str(server)) as folder:
        assert await folder.secrets.find(values, OWN_COMMAND) == values
        for owner in ("", "ann"):
            assert await folder.secrets.find(values, SecretUse(owner)) == {}
    with opened(own, vault=str(tmp_path / "none")) as folder:
        assert await folder.secrets.find(values, OWN_COMMAND) == {}


async def test_no_error_of_a_secret_repeats_it(tmp_path: Path) -> None:
    """Values are refused by their length alone."""
    with opened(tmp_path) as folder:
        ann = Principal("ann", "operator")
        for name, value in (("1x", CANARY), ("", CANARY), ("A", CANARY * 10_000), ("A", "")):
            with pytest.raises(SmartSpiderError) as caught:
                await vault.set_secret(folder, ann, name, value, is_shared=None)
            assert CANARY not in caught.value.line
