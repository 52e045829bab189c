"""Downloaded files are sent only from their folder, and only whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.core.errors import NotFound
from smartspider.services.results.files import open_below
from smartspider.store.results.files import RunFile


def stored(path: str, size: int = 3) -> RunFile:
    return RunFile(b"x" * 16, "http://h/a.png", path, "aa" * 32, size, "image/png", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"key")
    folder = tmp_path / "data"
    (folder / "files").mkdir(parents=True)
    (folder / "files/a.png").write_bytes(b"abc")
    (folder / "files/link").symlink_to(tmp_path / "secret")
    (folder / "files/inner").symlink_to(folder / "files/a.png")
    (folder / "files/folder").mkdir()
    return folder


def test_a_whole_file_is_opened(root: Path) -> None:
    with open_below(root, stored("files/a.png")) as file:
        assert file.read() == b"abc"


@pytest.mark.parametrize(
    "path", ["../secret", "files/../../secret", "files/link", "files/inner", "files/none", "files/folder"]
)
def test_nothing_else_is_sent(root: Path, path: str) -> None:
    with pytest.raises(NotFound):
        open_below(root, stored(path))


def test_a_file_that_was_cut_is_not_sent(root: Path) -> None:
    with pytest.raises(NotFound):
        open_below(root, stored("files/a.png", size=4))
