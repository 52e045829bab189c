"""Whether a data folder can be used."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import pytest

from smartspider.backends.sqlite import health
from smartspider.core.errors import StoreUnavailable
from smartspider.wiring.folder import open_folder

Usage = namedtuple("Usage", "total used free")


async def test_a_full_disk_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_folder(tmp_path / "data") as folder:
        await folder.check_writable()
        monkeypatch.setattr(health, "disk_usage", lambda _folder: Usage(10**9, 10**9, 4096))
        with pytest.raises(StoreUnavailable, match="is full"):
            await folder.check_writable()
