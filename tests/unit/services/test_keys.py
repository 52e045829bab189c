"""The keys of an installation."""

from __future__ import annotations

import hashlib
import hmac
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smartspider.core.errors import SettingInvalid, StoreUnavailable
from smartspider.installation.keys import FILE, Keys, open_keys


def test_a_key_is_made_once_and_is_for_its_owner_only(tmp_path: Path) -> None:
    first = open_keys(tmp_path).current
    file = tmp_path / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text())) == 32
    assert open_keys(tmp_path).current.derive("x") == first.derive("x")
    assert [one.name for one in tmp_path.iterdir()] == [FILE]


def test_of_many_who_make_it_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_keys(tmp_path).current.derive("x"), range(32)))
    assert len(set(made)) == 1
    assert [one.name for one in tmp_path.iterdir()] == [FILE]


def test_a_key_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    open_keys(tmp_path)
    (tmp_path / FILE).chmod(0o644)
    open_keys(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_the_setting_stands_before_the_file(tmp_path: Path) -> None:
    keys = open_keys(tmp_path, "a long enough master key").current
    assert not (tmp_path / FILE).exists()
    assert keys.derive("x") == Keys(b"a long enough master key").derive("x")
    with pytest.raises(SettingInvalid) as error:
        open_keys(tmp_path, "short-canary")
    assert "canary" not in f"{error.value.message}{error.value.hint}"


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff" * 64])
def test_a_spoiled_file_is_not_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreUnavailable, match=FILE):
        open_keys(tmp_path)


def test_keys_of_purposes_and_installations_are_others() -> None:
    one, two = Keys(b"one"), Keys(b"two")
    found = [keys.derive(purpose) for keys in (one, two) for purpose in ("a", "b", "")]
    assert len(set(found)) == 6
    assert {len(key) for key in found} == {32}
    assert len({keys.webhook_secret(number) for keys in (one, two) for number in (1, 2, 12)}) == 6


def test_keys_are_derived_as_hkdf_has_it() -> None:
    """RFC 5869 with SHA-256 and one block."""
    root = hmac.new(b"smartspider keys 1", b"master", hashlib.sha256).digest()
    assert Keys(b"master").derive("jwt") == hmac.new(root, b"jwt\x01", hashlib.sha256).digest()
