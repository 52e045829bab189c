"""The console at every path that is not of the API."""

from __future__ import annotations

import gzip
import re
from importlib import resources
from pathlib import Path

import aiohttp
import brotli  # type: ignore[import-untyped] # the library ships no types
import pytest
from starlette.types import Message, Scope
from tests.unit.api.asking import Answer, Caller
from yarl import URL

from smartspider.api.console import Console, choose_encoding

BUILD = Path(str(resources.files("smartspider"))) / "console" / "dist"
PAGES = (
    "/",
    "/index.html",
    "/tasks/shop.de",
    "/runs/7/pages/3",
    "/sign-in",
    "/apis",
    "/healthzz",
    "/a%2e%2e/b",
)
API = (
    "/api",
    "/api/",
    "/api/no/such",
    "/api/assets/x.js",
    "/metrics/x",
    "/healthz/x",
    "/readyz/x",
    "/API/runs",
    "//api",
)
ASSETS = sorted(f"/assets/{file.name}" for file in (BUILD / "assets").iterdir())


async def read(api: Caller, path: str, encoding: str = "identity") -> Answer:
    """An answer as it was sent."""
    headers = {"Accept-Encoding": encoding}
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        return await Caller(session, api.base, None).get(path, headers=headers, allow_redirects=False)


def nonces(answer: Answer) -> set[str]:
    return set(re.findall(r'nonce="([^"]+)"', answer.body.decode()))


@pytest.mark.parametrize("path", PAGES)
async def test_a_path_that_is_not_of_the_api_shows_the_page(api: Caller, path: str) -> None:
    answer = (await read(api, path)).expect(200)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert b'<div id="app">' in answer.body


async def test_the_page_allows_its_own_files_and_one_nonce(api: Caller) -> None:
    first, second = await read(api, "/"), await read(api, "/")
    policy = first.headers["Content-Security-Policy"]
    (nonce,) = nonces(first)
    assert policy == (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
        "img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    assert nonces(second) != {nonce}
    assert b"{{" not in first.body
    assert b"<style" not in first.body
    assert not re.search(rb"<script(?![^>]*src=)|\son\w+=|https?://", first.body)
    assert first.headers["X-Frame-Options"] == "DENY"
    assert "Set-Cookie" not in first.headers


@pytest.mark.parametrize("path", API)
async def test_a_path_of_the_api_never_shows_the_console(api: Caller, path: str) -> None:
    for caller in (api, api.with_token(None)):
        answer = await caller.get(path)
        assert answer.status in (401, 404), path
        assert answer.json["code"] in ("not_signed_in", "not_found")


@pytest.mark.parametrize(
    "path",
    [
        *("/assets/no.js", "/favicon.ico", "/robots.txt", "/.source-hash", "/assets/a/b.js"),
        *("/assets/../index.html", "/assets/%2e%2e/%2e%2e/__init__.py", "/assets/%00.js", "/no.css"),
    ],
)
async def test_a_missing_file_is_a_problem(api: Caller, path: str) -> None:
    async with aiohttp.ClientSession() as session:
        url = URL(api.base + path, encoded=True)
        async with session.get(url) as answer:
            assert answer.status == 404
            assert b"import annotations" not in await answer.read()


@pytest.mark.parametrize("path", ASSETS)
async def test_files_with_a_hash_in_their_name_are_kept(api: Caller, path: str) -> None:
    answer = (await read(api, path)).expect(200)
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.body == (BUILD / path[1:]).read_bytes()
    assert "no-store" not in answer.headers["Cache-Control"]


async def test_files_are_sent_compressed_as_the_client_accepts(api: Caller) -> None:
    path = max(ASSETS, key=lambda one: (BUILD / one[1:]).stat().st_size)
    content = (BUILD / path[1:]).read_bytes()
    for accepted, encoding, decompress in (
        ("gzip, deflate, br, zstd", "br", brotli.decompress),
        ("gzip", "gzip", gzip.decompress),
        ("br;q=0, gzip;q=0.5", "gzip", gzip.decompress),
    ):
        answer = (await read(api, path, accepted)).expect(200)
        assert answer.headers["Content-Encoding"] == encoding
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert len(answer.body) < len(content) / 2
        assert decompress(answer.body) == content
    assert "Content-Encoding" not in (await read(api, path)).headers


async def test_a_head_has_no_body_and_nothing_is_written(api: Caller) -> None:
    nobody = api.with_token(None)
    answer = (await nobody("HEAD", "/tasks")).expect(200)
    assert answer.body == b""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert (await nobody(method, "/tasks")).status == 404


async def test_without_a_build_the_page_says_what_to_do(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    await Console(tmp_path)(scope, receive, send)
    assert sent[0]["status"] == 404
    assert b"`make console`" in sent[1]["body"]


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [("", "identity"), ("*", "identity"), ("br", "br"), ("GZIP", "gzip"), ("br;q=0.000", "identity")],
)
def test_an_encoding_that_is_not_accepted_is_not_used(accepted: str, chosen: str) -> None:
    assert choose_encoding(accepted, {"identity": b"12345", "br": b"1", "gzip": b"12"}) == chosen


def test_first_load_and_chunks_stay_small() -> None:
    """200 kB as brotli sends it, and no chunk of more than 150 kB that could be divided."""
    page = (BUILD / "index.html").read_text()
    loaded = [BUILD / path for path in re.findall(r'(?:src|href)="/(assets/[^"]+)"', page)]
    first = [*loaded, *BUILD.glob("assets/OverviewPage*")]
    assert len(first) > len(loaded)
    assert sum(len(brotli.compress(file.read_bytes(), quality=10)) for file in first) <= 200_000
    sizes = {file.name: file.stat().st_size for file in (BUILD / "assets").iterdir()}
    (view,) = (name for name in sizes if name.startswith("editor-view-"))
    assert sizes.pop(view) <= 190_000  # one module of CodeMirror, loaded with the editor alone
    assert max(sizes.values()) <= 150_000


async def test_a_server_says_what_it_can_do(api: Caller) -> None:
    about = (await api.get("/api/about")).expect(200).json
    document = (await api.get("/api/openapi.json")).json
    assert about["version"] == document["info"]["version"]
    assert {"runs", "tasks", "auth", "results"} <= set(about["capabilities"])
    assert about["capabilities"] == sorted(about["capabilities"])
    (await api.with_token(None).get("/api/about")).expect(401)
