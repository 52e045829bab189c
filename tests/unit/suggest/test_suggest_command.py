"""`smartspider suggest`, with a site on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from smartspider.cli.main import main
from smartspider.taskfile.load import load_task, parse_task
from smartspider_testing.sites.threaded import serve_in_thread

PAGES = Path(__file__).parent / "pages"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the folder and says nothing about it."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with the kept pages and a few others."""
    folder = tmp_path_factory.mktemp("site")
    for path in PAGES.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "bare.html").write_text("<h1>Log in</h1><form><input name=u></form>")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /jobs.html\n")
    with serve_in_thread(partial(QuietHandler, directory=str(folder))) as origin:
        yield origin


def suggest(url: str, *options: str) -> int:
    return main(["suggest", url, "--ignore-robots", *options])


def test_the_task_goes_to_stdout_and_the_talk_to_stderr(
    site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suggest(f"{site}/shop_cards.html") == 0
    out, err = capsys.readouterr()
    task = parse_task(json.loads(out))
    assert task.entry_urls == [f"{site}/shop_cards.html"]
    assert task.selectors.items == "li.product-grid__item"
    assert "* 1. list, 24 items" in err
    assert "Linen Basket" in err
    assert "smartspider dry-run task.json" in err


def test_a_file_is_written_named_and_never_overwritten_unasked(
    site: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.json"
    assert suggest(f"{site}/shop_cards.html", "-o", str(path)) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"smartspider dry-run {path}" in err
    assert load_task(path).name == "shop"
    before = path.read_bytes()
    assert suggest(f"{site}/news.html", "-o", str(path)) == 4
    assert "exists" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert suggest(f"{site}/news.html", "-o", str(path), "--force") == 0
    assert load_task(path).selectors.items == "article.teaser"


def test_another_candidate_can_be_chosen(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest(f"{site}/product_detail.html", "--choice", "2") == 0
    out, err = capsys.readouterr()
    assert "* 2." in err
    assert "items" in json.loads(out)["selectors"]
    assert suggest(f"{site}/product_detail.html", "--choice", "40") == 2
    assert "--choice" in capsys.readouterr().err


def test_all_candidates_come_as_json(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest(f"{site}/zh_shop.html", "--json") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err == ""
    first = found["candidates"][0]
    assert 0.9 < first["score"] <= 1.0
    assert first["count"] == 20
    assert {field["name"] for field in first["fields"]} >= {"url", "price", "image"}
    parse_task(first["task"])


def test_robots_are_obeyed(site: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", f"{site}/jobs.html"]) == 4
    assert "robots.txt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/bare.html", "no list"),
        ("/picture.png", "not HTML"),
        ("/nowhere", "404"),
    ],
)
def test_a_page_without_anything_to_suggest_says_what_to_do(
    path: str, said: str, site: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suggest(f"{site}{path}") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert "try:" in err


def test_a_file_name_that_no_task_may_have_is_made_one(site: str, tmp_path: Path) -> None:
    path = tmp_path / "my shop!.json"
    assert suggest(f"{site}/news.html", "-o", str(path)) == 0
    assert load_task(path).name == "my_shop"


@pytest.mark.parametrize(("url", "code"), [("http://127.0.0.1:1/", 5), ("not a url", 2)])
def test_a_page_that_cannot_be_had_is_an_error(
    url: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suggest(url) == code
    assert "error:" in capsys.readouterr().err
