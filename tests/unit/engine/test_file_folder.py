"""Downloaded files: their names, and how they reach the disk."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import pytest

from smartspider.core import failpoints
from smartspider.core.errors import StoreUnavailable
from smartspider.core.pages.files import FilePlan
from smartspider.core.pages.page import Page
from smartspider.engine.file_folder import FileFolder


def page(url: str = "https://h.example/a.png", body: bytes = b"x", kind: str = "image/png") -> Page:
    return Page(url, 200, {"content-type": kind} if kind else {}, body, "utf-8", 0.0)


def put(folder: Path, of: Page, name: str = "{sha256}.{ext}", where: str = "files") -> str:
    return FileFolder(folder).put(of, FilePlan(where, name)).path


def all_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_equal_content_is_stored_once(tmp_path: Path) -> None:
    paths = {put(tmp_path, page(f"https://h.example/{name}.png")) for name in "abc"}
    assert paths == {f"files/{hashlib.sha256(b'x').hexdigest()}.png"}
    assert all_files(tmp_path) == list(paths)
    assert (tmp_path / paths.pop()).read_bytes() == b"x"


def test_other_content_never_overwrites_a_file(tmp_path: Path) -> None:
    first = put(tmp_path, page(body=b"one"), "{name}.{ext}")
    again = put(tmp_path, page(body=b"one"), "{name}.{ext}")
    second = put(tmp_path, page(body=b"two"), "{name}.{ext}")
    assert (first, again) == ("files/a.png", "files/a.png")
    assert second == f"files/a-{hashlib.sha256(b'two').hexdigest()[:16]}.png"
    assert [(tmp_path / path).read_bytes() for path in (first, second)] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("url", "kind", "extension"),
    [
        ("https://h.example/a", "image/jpeg", "jpg"),
        ("https://h.example/a.jpeg", "image/jpeg; q=1", "jpg"),
        ("https://h.example/a.php", "application/pdf", "pdf"),
        ("https://h.example/a.docx", "application/octet-stream", "docx"),
        ("https://h.example/a.PNG", "", "png"),
        ("https://h.example/a", "", "bin"),
        ("https://h.example/a.toolongsuffix", "x/unknown", "bin"),
        ("https://h.example/a.sh%2f..", "", "bin"),
    ],
)
def test_the_extension_comes_from_the_media_type_or_the_url(
    tmp_path: Path, url: str, kind: str, extension: str
) -> None:
    assert put(tmp_path, page(url, kind=kind)).rpartition(".")[2] == extension


@pytest.mark.parametrize(
    "url",
    [
        "https://h.example/..%2f..%2fetc%2fpasswd",
        "https://h.example/%2e%2e/%2e%2e/x",
        "https://h.example/...",
        "https://h.example/%00%0a%5c..%5c.png",
        "https://h.example/",
        f"https://h.example/{'a' * 500}.png",
        "https://h.example/~%2froot.png",
    ],
)
def test_no_url_leads_outside_the_folder(tmp_path: Path, url: str) -> None:
    root = tmp_path / "data"
    path = put(root, page(url), "{host}/{name}.{ext}", "files/large")
    assert path.startswith("files/large/h.example/")
    assert all_files(tmp_path) == [f"data/{path}"]
    assert (root / path).resolve().is_relative_to(root.resolve())
    assert not Path(path).name.startswith(".")


def test_a_redirected_file_keeps_the_name_it_was_asked_by(tmp_path: Path) -> None:
    of = Page("https://cdn.example/8f3a", 200, {"content-type": "image/png"}, b"x", "utf-8", 0.0)
    hopped = Page(of.url, 200, of.headers, of.body, "utf-8", 0.0, hops=("https://h.example/red-shoe.png",))
    assert put(tmp_path, hopped, "{name}.{ext}") == "files/red-shoe.png"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        put(tmp_path, page())


@pytest.mark.parametrize(
    "name", ["{name}.{ext}", "{name}{name}{name}.{ext}", "{host}/{name}-{name}-{name}.{ext}"]
)
def test_a_long_name_is_cut_to_what_file_systems_take(tmp_path: Path, name: str) -> None:
    long = page(f"https://h.example/{'漢' * 100}.png", b"one")
    first = put(tmp_path, long, name)
    second = put(tmp_path, page(long.url, b"two"), name)
    assert first != second
    assert all(path.endswith(".png") for path in (first, second))
    assert [(tmp_path / path).read_bytes() for path in (first, second)] == [b"one", b"two"]


def test_a_link_to_another_file_is_not_taken_for_the_file(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"x")
    (tmp_path / "files" / "a.png").symlink_to(tmp_path / "elsewhere")
    assert put(tmp_path, page(), "{name}.{ext}") == f"files/a-{hashlib.sha256(b'x').hexdigest()[:16]}.png"


@pytest.mark.parametrize("point", failpoints.FILES)
def test_no_half_file_is_taken_for_whole_after_kill_nine(tmp_path: Path, point: str) -> None:
    body = bytes(range(256)) * 4096
    pid = os.fork()
    if pid == 0:  # the child dies in the middle of writing
        failpoints.arm(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == point else None)
        try:
            put(tmp_path, page(body=body), "{name}.{ext}")
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    named = [path for path in all_files(tmp_path) if not Path(path).name.startswith(".part-")]
    assert [(tmp_path / path).read_bytes() == body for path in named] == [True] * len(named)
    assert named == (["files/a.png"] if point == "file.linked" else [])
    assert put(tmp_path, page(body=body), "{name}.{ext}") == "files/a.png"
    assert (tmp_path / "files/a.png").read_bytes() == body
