"""`crawl URL`: from an address to rows, in real processes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.acceptance.workshop import Site, Workshop, until, written_site

from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

WORDS = ["Apple", "Birch", "Cedar", "Daisy", "Elder", "Fir", "Ginger", "Hazel", "Iris", "Juniper"]
FEED_ITEM = "<item><title>{0}</title><link>http://x.example/{0}</link><guid>{0}</guid></item>"


def card(word: str) -> str:
    return (
        f'<li class="card"><a class="title" href="/item/{word.lower()}">{word} Tea</a>'
        f'<p class="text">A tea of {word.lower()}, harvested by hand.</p>'
        f'<b class="price">€{len(word)}.50</b></li>'
    )


def list_page(words: list[str], after: str = "") -> dict[str, object]:
    cards = "".join(map(card, words))
    return {"body": f"<html><title>Teas</title><body><main><ul>{cards}</ul>{after}</main></body></html>"}


def xml(text: str) -> dict[str, object]:
    return {"body": f'<?xml version="1.0"?>{text}', "headers": {"content-type": "application/xml"}}


def routes() -> dict[str, list[dict[str, object]]]:
    feed = "".join(FEED_ITEM.format(word) for word in WORDS)
    items = [{"id": number, "name": word, "price": number + 0.5} for number, word in enumerate(WORDS)]
    return {
        "/": [list_page(WORDS[:5], '<a class="next" rel="next" href="/two">Next</a>')],
        "/two": [list_page(WORDS[5:], '<a class="prev" href="/">Previous</a>')],
        "/feed": [xml(f"<rss version='2.0'><channel><title>T</title>{feed}</channel></rss>")],
        "/api": [{"body": json.dumps({"items": items}), "headers": {"content-type": "application/json"}}],
        "/bare": [{"body": "<html><h1>Sign in</h1><form><input name=u></form></html>"}],
    }


@pytest.fixture
def site(workshop: Workshop) -> Iterator[Site]:
    with written_site(workshop.folder.parent, routes=routes()) as served:
        yield served


def names(workshop: Workshop) -> list[str]:
    return sorted(str(row.get("title") or row.get("name")).removesuffix(" Tea") for row in workshop.rows())


def test_a_list_is_suggested_shown_and_crawled_to_its_last_page(workshop: Workshop, site: Site) -> None:
    finished = workshop.run("crawl", site.url("/"), "--yes", "-o", "rows.jsonl", "--json").expect(0)
    assert names(workshop) == WORDS
    assert finished.json["pages"] == 2
    assert "Apple Tea" in finished.err
    assert "/two" in finished.err
    (folder,) = (workshop.folder / ".smartspider").glob("*/smartspider.db")
    assert folder.parent.name == f"127_0_0_1_{site.port}"
    sent = [arrival.arrived_at for arrival in site.log()]
    assert min(after - before for before, after in pairwise(sent)) > 0.45


@pytest.mark.parametrize("path", ["/feed", "/api"])
def test_a_feed_and_json_are_crawled_like_a_list(workshop: Workshop, site: Site, path: str) -> None:
    workshop.run("crawl", site.url(path), "--yes", "-o", "rows.jsonl").expect(0)
    assert names(workshop) == WORDS


def test_all_pages_of_a_sitemap_are_crawled(workshop: Workshop, site: Site) -> None:
    locations = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/", "/two"))
    sitemap = xml(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>')
    with written_site(workshop.folder.parent, routes={"/map.xml": [sitemap]}) as listed:
        allowed = {"SMARTSPIDER_ALLOW_PRIVATE": "1"}
        finished = workshop.run(
            "crawl",
            listed.url("/map.xml"),
            "--yes",
            "--json",
            "--set",
            'scope.domains=["127.0.0.1"]',
            env=allowed,
        ).expect(0)
    assert finished.json["items"] == 2
    assert "/map.xml lists" in finished.err


def test_without_a_terminal_and_without_yes_nothing_is_crawled(workshop: Workshop, site: Site) -> None:
    refused = workshop.run("crawl", site.url("/"), "-o", "rows.jsonl").expect(4)
    assert "--yes" in refused.err
    assert f"suggest {site.url('/')} -o task.json" in refused.err
    assert "Apple Tea" in refused.err
    assert workshop.files() == []


def answer(workshop: Workshop, text: str, *command: str) -> tuple[int, str]:
    """Answer the question of a command on a terminal; return the exit code and the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "smartspider", *command],
        cwd=workshop.folder,
        env={"LANG": "C.UTF-8", "TERM": "dumb", "HOME": str(workshop.folder)},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    screen = b""
    try:
        while b"[y/N]" not in screen:
            screen += os.read(ours, 4096)
        os.write(ours, text.encode())
        while True:
            screen += os.read(ours, 4096)
    except OSError:  # the other end is closed
        return process.wait(timeout=WAIT_S), screen.decode()
    finally:
        process.kill()
        process.wait(WAIT_S)
        os.close(ours)


def test_on_a_terminal_it_asks(workshop: Workshop, site: Site) -> None:
    crawl = ("crawl", site.url("/"), "-o", "rows.jsonl")
    code, screen = answer(workshop, "n\n", *crawl)
    assert (code, "cancelled" in screen) == (4, True), screen
    assert not (workshop.folder / "rows.jsonl").exists()
    code, screen = answer(workshop, "y\n", *crawl)
    assert code == 0, screen
    assert names(workshop) == WORDS
    code, screen = answer(workshop, "n\n", "run", "delete", "1")
    assert (code, "10 rows" in screen) == (4, True), screen
    assert workshop.run("run", "delete", "1").expect(0).err == "run 1 is deleted\n"


def test_the_task_can_be_saved_and_crawled_again(workshop: Workshop, site: Site) -> None:
    command = ("crawl", site.url("/"), "--yes", "--save", "teas.json")
    workshop.run(*command, "--set", "limits.max_pages=1").expect(0)
    saved = json.loads((workshop.folder / "teas.json").read_text())
    assert (saved["name"], saved["entry_urls"]) == ("teas", [site.url("/")])
    assert "limits" not in saved
    workshop.run("crawl", "teas.json", "-o", "rows.jsonl").expect(0)
    assert names(workshop) == WORDS
    refused = workshop.run(*command).expect(4)
    assert "teas.json exists" in refused.err


def test_a_killed_crawl_resumes_although_the_page_has_changed(workshop: Workshop) -> None:
    slow = {**list_page(WORDS[5:]), "delay_s": 30}
    changed = {"body": "<html><h1>Sold out</h1></html>"}
    first = list_page(WORDS[:5], '<a class="next" rel="next" href="/two">Next</a>')
    # Both pages are fetched for the suggestion, then for the crawl, which is killed on the second.
    pages = {"/": [first, first, changed], "/two": [list_page(WORDS[5:]), slow, list_page(WORDS[5:])]}
    with written_site(workshop.folder.parent, routes=pages) as site:
        crawl = workshop.start("crawl", site.url("/"), "--yes")
        until(lambda: crawl.has_ended() or site.paths().count("/two") > 1, "the second page")
        assert not crawl.has_ended(), crawl.err
        crawl.kill()
        finished = workshop.run("crawl", site.url("/"), "-o", "rows.jsonl").expect(0)
    assert "resuming" in finished.err
    assert names(workshop) == WORDS


@pytest.mark.parametrize(
    ("target", "code", "word"),
    [
        ("/bare", 3, "no list"),
        ("/missing", 3, "404"),
        ("ftp://a.example/", 3, "no file"),
        ("shop.example.com/list", 3, "https://shop.example.com/list"),
        ("http://", 2, "not an http"),
    ],
)
def test_what_cannot_be_crawled_is_said_in_two_lines(
    workshop: Workshop, site: Site, target: str, code: int, word: str
) -> None:
    url = site.url(target) if target.startswith("/") else target
    refused = workshop.run("crawl", url, "--yes").expect(code)
    assert word in refused.err
    assert len(refused.err.splitlines()) == 2, refused.err


def test_wrong_outputs_and_overrides_are_refused_before_the_question(workshop: Workshop, site: Site) -> None:
    workshop.run("crawl", site.url("/"), "--yes", "-o", "rows.nope").expect(2)
    assert site.log() == []
    workshop.run("crawl", site.url("/"), "--yes", "--set", "limits.max_pags=1").expect(2)
    assert workshop.files() == []
