"""Layers of a task, from the task file to the stored row: in crawls, previews and commands alike."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from smartspider.core.errors import TaskInvalid
from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings, read_settings
from smartspider.services.preview.rules import apply_rules
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.opening import open_folder
from smartspider.wiring.preview.command_fetch import command_fetcher
from smartspider.wiring.preview.task_preview import preview_task

ANSWERS = {b"/a": b'{"html": "<ul><li>Tea</li><li>Cup</li></ul>"}', b"/b": b'{"error": "busy"}'}


@asynccontextmanager
async def api() -> AsyncIterator[str]:
    """A site that answers with HTML inside JSON."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "
        writer.write(head + b"%d\r\n\r\n" % len(ANSWERS[path]) + ANSWERS[path])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def task_of(site: str, *paths: str) -> dict[str, Any]:
    return {
        "name": "api",
        "entry_urls": [f"{site}{path}" for path in paths],
        "layers": [{"use": "json", "expr": "html"}],
        "selectors": {"items": "li", "fields": {"name": ":scope::text"}},
        "politeness": {"delay_s": 0, "robots": "ignore"},
    }


def plan_of(site: str, *paths: str) -> Plan:
    return compile_task(parse_task(task_of(site, *paths)))


async def test_a_crawl_stores_the_rows_inside_json_and_names_the_layer_of_a_broken_page(
    tmp_path: Path,
) -> None:
    async with api() as site:
        plan = plan_of(site, "/a", "/b")
        with open_folder(tmp_path / "data") as folder:
            run = await folder.store.create_run(plan)
            run = await folder.store.set_state(run.id, "running")
            ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
            (broken,) = await folder.store.failures(run.id, 5)
    assert (ended.counters.done, ended.counters.items, ended.counters.broken) == (1, 2, 1)
    reason = "layer_failed: layers[0] json, after the answer: the answer has nothing at 'html'"
    assert (broken.url, broken.reason) == (f"{site}/b", reason)


@pytest.mark.usefixtures("tmp_path")
async def test_a_preview_and_a_command_read_the_same() -> None:
    async with api() as site:
        previewed = await preview_task(plan_of(site, "/a"), Settings(), limit=1)
        async with command_fetcher(plan_of(site, "/a")) as fetch:
            page = await fetch(f"{site}/a")
    (shown,) = previewed.pages
    assert shown.items == apply_rules(task_of(site, "/a"), page).items == [{"name": "Tea"}, {"name": "Cup"}]


KEY, PASSWORD = "0123456789abcdef", "p4ssword-of-the-api"


class SignedApi:
    """An API whose requests carry a token and a signature, and whose bodies are encrypted. `/old` redirects
    to `/new`, which accepts the second token only.
    """

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[str] = []
        self.tokens = 0
        self.nonces: set[str] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(path)
        status, answer = self.answer(method, path, headers, body)
        start = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(answer)}\r\n\r\n"
        writer.write(start.encode() + answer)
        writer.close()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[str, bytes]:
        if path == "/robots.txt":
            return "404 Not Found", b""
        if path == "/token":
            assert json.loads(body) == {"password": PASSWORD}
            self.tokens += 1
            return "200 OK", json.dumps({"access_token": f"t0ken-{self.tokens}"}).encode()
        nonce = headers["x-nonce"]
        text = f"{method}\n{path}\n{headers['x-time']}\n{nonce}\n{hashlib.sha256(body).hexdigest()}"
        expected = hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(headers["x-sign"], expected) or nonce in self.nonces:
            return "400 Bad Request", b"wrong signature"
        self.nonces.add(nonce)
        if headers["authorization"] != f"Bearer t0ken-{self.tokens}" or (path == "/new" and self.tokens == 1):
            return "401 Unauthorized", b""
        if path == "/old":
            return "307 Temporary Redirect\r\nLocation: /new", b""
        sent = json.loads(body)
        cipher, vector = AESGCM(KEY.encode()), base64.b64decode(sent["iv"])
        asked = json.loads(cipher.decrypt(vector, base64.b64decode(sent["data"]), None))
        vector, plain = os.urandom(12), json.dumps({"rows": [{"name": f"Tea {asked['page']}"}]}).encode()
        message = vector + cipher.encrypt(vector, plain, None)
        return "200 OK", json.dumps({"data": base64.b64encode(message).decode()}).encode()


@asynccontextmanager
async def signed_api() -> AsyncIterator[SignedApi]:
    api = SignedApi()
    async with await asyncio.start_server(api.serve, "127.0.0.1", 0) as server:
        api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield api


def signed_task(site: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "signed",
        "entry_urls": [{"url": f"{site}/old", "method": "POST", "body": {"page": 1}}],
        "layers": [
            {"use": "token", "url": f"{site}/token", "body": {"password": "${PASSWORD}"}},
            {"use": "encrypt", "cipher": "aes-gcm", "key": "${KEY}", "into": "data", "iv_field": "iv"},
            {
                "use": "sign",
                "algorithm": "hmac-sha256",
                "key": "${KEY}",
                "text": "{method}\n{path}\n{time}\n{nonce}\n{body_sha256}",
                "headers": {"X-Time": "{time}", "X-Nonce": "{nonce}", "X-Sign": "{signature}"},
            },
            {"use": "decrypt", "cipher": "aes-gcm", "key": "${KEY}", "expr": "data"},
        ],
        "selectors": {
            "items": {"type": "jmespath", "expr": "rows"},
            "fields": {"name": {"type": "jmespath", "expr": "name"}},
        },
        "politeness": {"delay_s": 0},
        **more,
    }


SECRETS = {"SMARTSPIDER_VAR_KEY": KEY, "SMARTSPIDER_VAR_PASSWORD": PASSWORD}


async def test_a_crawl_of_a_signed_and_encrypted_api_stores_rows_and_no_secret(tmp_path: Path) -> None:
    settings = read_settings(SECRETS, tmp_path / "none")
    async with signed_api() as api:
        plan = compile_task(parse_task(signed_task(api.url)))
        with open_folder(tmp_path / "data", settings=settings) as folder:
            run = await folder.store.create_run(plan)
            run = await folder.store.set_state(run.id, "running")
            ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
            rows = [json.loads(row.data) async for batch in folder.store.items(run.id) for row in batch]
        previewed = await preview_task(plan, settings, limit=1)
    assert plan.needs == {"http", "secret:KEY", "secret:PASSWORD"}
    assert (ended.state, ended.counters.done, rows) == ("completed", 1, [{"name": "Tea 1"}])
    assert [page.items for page in previewed.pages] == [rows]
    # The second page rejects the first token: it is renewed, and the hop is signed and sent again.
    assert api.seen[:6] == ["/robots.txt", "/token", "/old", "/new", "/token", "/new"]
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"${PASSWORD}" in stored
    assert not any(secret.encode() in stored for secret in (KEY, PASSWORD, "t0ken-1", "t0ken-2"))


async def test_a_crawl_with_a_secret_that_is_no_key_ends_before_a_request_and_names_it(
    tmp_path: Path,
) -> None:
    settings = read_settings({**SECRETS, "SMARTSPIDER_VAR_KEY": "sh0rt"}, tmp_path / "none")
    async with signed_api() as api:
        plan = compile_task(parse_task(signed_task(api.url)))
        with open_folder(tmp_path / "data", settings=settings) as folder:
            run = await folder.store.create_run(plan)
            run = await folder.store.set_state(run.id, "running")
            with pytest.raises(TaskInvalid) as caught:
                await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
    assert api.seen == []
    assert [problem.path for problem in caught.value.problems] == ["layers[1].key", "layers[3].key"]
    assert "sh0rt" not in caught.value.line
