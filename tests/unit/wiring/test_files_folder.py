"""Where downloaded files go: the data folder, or a folder that the machines of a cluster share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from smartspider.core.errors import NotBuilt
from smartspider.installation.settings import Settings
from smartspider.wiring.opening import open_folder

SHARED = Settings(files_folder="/srv/files")


def test_files_are_in_the_data_folder_unless_a_setting_names_another(tmp_path: Path) -> None:
    with open_folder(tmp_path / "own") as folder:
        assert folder.require_files_path() == tmp_path / "own"
    with open_folder(tmp_path / "other", settings=SHARED) as folder:
        assert folder.require_files_path() == Path("/srv/files")


def test_a_cluster_without_a_shared_folder_refuses_downloads(tmp_path: Path) -> None:
    remote = cast("Any", object())
    with open_folder(tmp_path) as folder:
        cluster = msgspec.structs.replace(folder, remote_frontier=remote)
        with pytest.raises(NotBuilt) as caught:
            cluster.require_files_path()
        assert "SMARTSPIDER_FILES_FOLDER" in caught.value.hint
        shared = msgspec.structs.replace(cluster, settings=SHARED)
        assert shared.require_files_path() == Path("/srv/files")
