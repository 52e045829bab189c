"""The wire to a server: what breaks on it, and what is said then."""

from __future__ import annotations

import asyncio
import itertools
import random
import subprocess
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Unpack

import msgspec
import pytest
import uvicorn
from tests.unit.api.asking import ADMIN_TOKEN, serving
from tests.unit.api.rows import TEA, crawled
from tests.unit.api.watching import new_run, until
from tests.unit.client.breaking import IMPATIENT, Wire, wire

from smartspider.api.app import create_app
from smartspider.api.limits import ApiLimits
from smartspider.client import Client, ClientRetry
from smartspider.client.errors import error_of
from smartspider.client.http import build_path, check_server_url
from smartspider.client.streams import resumed, server_sent
from smartspider.core import errors
from smartspider.core.logs import LogLine
from smartspider.core.runs.run import RunState
from smartspider.operations.services import Services
from smartspider.views.arguments import ExportArguments
from smartspider_testing.sites.answers import page, reply
from smartspider_testing.sites.scripted import ScriptableSite
from smartspider_testing.waiting import WAIT_S

SPEC = {"name": "shop", "entry_urls": ["http://a.example/"]}


async def test_what_is_lost_on_the_way_back_is_asked_again_and_done_once(far: Client, cut: Wire) -> None:
    cut.drops_answer = True
    made = await far.create_task(SPEC)
    assert made.status == "created"
    cut.drops_answer = True
    run = await far.start_task("shop")
    assert [one.id for one in (await far.list_runs()).items] == [run.run_id]
    cut.drops_answer = True
    assert (await far.get_run(run.run_id)).id == run.run_id


async def test_a_key_of_ones_own_starts_one_run_however_often_it_comes(client: Client) -> None:
    await client.create_task(SPEC)
    runs = {(await client.start_task("shop", idempotency_key="monday")).run_id for _ in range(3)}
    assert len(runs) == 1
    with pytest.raises(errors.Conflict, match="another request"):
        await client.start_task("shop", overlap=True, idempotency_key="monday")


async def test_what_must_not_be_done_twice_is_not_sent_twice(far: Client, cut: Wire) -> None:
    await far.create_user("ann", password="four random words")
    cut.drops_answer = True
    before = cut.connections
    with pytest.raises(errors.ServerUnreachable, match=cut.url):
        await far.create_session(username="ann", password="four random words")
    assert cut.connections <= before + 1
    actions = [entry.action for entry in (await far.list_audit()).items]
    assert sum("sign" in action or "session" in action for action in actions) <= 1


async def test_a_server_that_is_not_there_is_tried_a_few_times(cut: Wire) -> None:
    cut.target = None
    async with Client(cut.url, ADMIN_TOKEN, retry=IMPATIENT) as client:
        with pytest.raises(errors.ServerUnreachable, match=cut.url) as raised:
            await client.get_me()
    assert "smartspider up" in raised.value.hint
    assert IMPATIENT.tries <= cut.connections <= 2 * IMPATIENT.tries


async def test_a_closed_port_is_told_in_the_words_of_the_system(unused_tcp_port: int) -> None:
    async with Client(f"http://127.0.0.1:{unused_tcp_port}", ADMIN_TOKEN, retry=IMPATIENT) as client:
        with pytest.raises(errors.ServerUnreachable) as raised:
            await client.get_me()
    assert raised.value.message.endswith("does not respond: Connection refused")


async def test_a_server_that_comes_back_meanwhile_is_found(far: Client, cut: Wire, url: str) -> None:
    cut.target = None
    asked = asyncio.create_task(far.get_me())
    await until(lambda: cut.connections)
    cut.target = url
    assert (await asked).role == "admin"


@pytest.mark.parametrize("way", ["cut", "restart"])
async def test_following_goes_on_without_a_gap_or_a_double(services: Services, way: str) -> None:
    run = await new_run(services)
    states: list[RunState] = ["paused", "running"]
    numbers: list[int | None] = []
    async with wire(None) as cut, Client(cut.url, ADMIN_TOKEN, retry=IMPATIENT) as client:

        async def follow() -> None:
            async for event in client.follow_run(str(run.id)):
                numbers.append(event.id)  # noqa: PERF401 - seen while it grows

        following: asyncio.Task[None] | None = None
        for _ in range(4):
            async with serving(services) as cut.target:
                following = following or asyncio.create_task(follow())
                await until(lambda: numbers and len(services.hub))
                for state in states * 3:
                    await services.installation.store.set_state(run.id, state)
                if way == "cut":
                    cut.cut()
                    await until(lambda: len(services.hub))
                cut.hang_up()
            for state in states:
                await services.installation.store.set_state(run.id, state)
        await services.installation.store.set_state(run.id, "cancelled")
        async with serving(services) as cut.target, asyncio.timeout(WAIT_S):
            assert following is not None
            await following
    assert numbers == list(range(1, len(await services.installation.events.of_run(run.id)) + 1))
    assert len(numbers) > 30


async def test_a_task_is_watched_across_broken_connections(
    services: Services, far: Client, cut: Wire
) -> None:
    first = await crawled(services.installation)
    seen: list[tuple[str | None, int | None]] = []
    async with aclosing(far.watch_task("tea")) as events:
        async for event in events:
            seen.append((event.run_id, event.id))
            if event.event == "run.state" and len({run for run, _ in seen}) == 1:
                cut.cut()
            if len({run for run, _ in seen}) == 1 and len(seen) == await count(services, first.id):
                second = await crawled(services.installation)
            if len(seen) > 1 and seen[-1] == (str(2), await count(services, 2)):
                break
    assert seen == [
        (str(run.id), number)
        for run in (first, second)
        for number in range(1, await count(services, run.id) + 1)
    ]


async def count(services: Services, run_id: int) -> int:
    return len(await services.installation.events.of_run(run_id))


async def test_log_lines_are_told_once_across_broken_connections(
    services: Services, far: Client, cut: Wire
) -> None:
    await services.installation.logs.add([LogLine(0.0, 20, "x", "before")])
    told: list[str] = []
    async with aclosing(far.tail_logs()) as lines:
        coming = asyncio.ensure_future(anext(lines))
        for number in range(4):
            await until(lambda: len(services.hub))
            cut.cut()  # before any line was seen, the first time
            await services.installation.logs.add([LogLine(1.0, 20, "x", f"{number}")])
            told.append((await coming).text)
            coming = asyncio.ensure_future(anext(lines))
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
    assert told == ["0", "1", "2", "3"]


async def test_a_stream_that_never_began_ends_with_what_is_wrong(far: Client, cut: Wire) -> None:
    with pytest.raises(errors.NotFound, match="99"):
        await anext(far.follow_run("99"))
    with pytest.raises(errors.NotFound, match="tea"):
        await anext(far.watch_task("tea"))
    with pytest.raises(errors.NotFound):
        await anext(far.tail_run_logs("99"))
    cut.hang_up()
    with pytest.raises(errors.ServerUnreachable):
        await anext(far.follow_run("1"))


async def test_a_stream_waits_for_its_server_but_not_for_ever(
    services: Services, far: Client, cut: Wire
) -> None:
    seconds = itertools.count()  # one with each look at the clock, however slow the machine is
    retry = msgspec.structs.replace(IMPATIENT, reconnect_s=2.0 * IMPATIENT.tries)
    path = f"/api/runs/{(await new_run(services)).id}/events"

    async def follow() -> None:
        stream = partial(server_sent, far.connection, path, {})
        async for _ in resumed(stream, retry, lambda: float(next(seconds))):
            cut.hang_up()

    with pytest.raises(errors.ServerUnreachable):
        await follow()
    assert cut.connections > 2 * retry.tries


@pytest.mark.parametrize("limits", [ApiLimits(recheck_s=0.02)])
async def test_whoever_is_let_in_no_more_is_told_so(services: Services, url: str, client: Client) -> None:
    run = await new_run(services)
    made = await client.create_token("eye", role="viewer")
    async with Client(url, made.token) as viewer:
        events = viewer.follow_run(str(run.id))
        await anext(events)
        lines = viewer.tail_logs()
        waiting = asyncio.ensure_future(anext(lines))
        await until(lambda: len(services.hub) == 2)
        await client.revoke_token(made.id)
        with pytest.raises(errors.NotSignedIn):
            async for _ in events:
                pass
        with pytest.raises(errors.NotSignedIn):
            await waiting


class CutOff(Client):
    """A client whose line is cut while it reads a file."""

    def __init__(self, line: Wire) -> None:
        super().__init__(line.url, ADMIN_TOKEN, retry=IMPATIENT)
        self._line = line

    async def export_results(
        self,
        *,
        format: str = "jsonl",  # noqa: A002 - what the API calls it
        **options: Unpack[ExportArguments],
    ) -> AsyncGenerator[bytes]:
        async for piece in super().export_results(format=format, **options):
            self._line.cut()
            yield piece


async def test_an_export_that_breaks_off_is_no_file(
    services: Services, far: Client, cut: Wire, tmp_path: Path
) -> None:
    draw = random.Random(1)  # names that stay long on the way, where bodies are compressed
    rows = [{**TEA[0], "name": draw.randbytes(500).hex(), "price": number} for number in range(3000)]
    run = await far.runs.get(str((await crawled(services.installation, rows)).id))
    whole = await run.results.export(tmp_path / "whole.jsonl")
    assert len(whole.read_bytes().splitlines()) == 3000
    whole.write_text("before")
    async with CutOff(cut) as client:
        with pytest.raises(errors.ServerUnreachable):
            await (await client.runs.get(run.id)).results.export(whole)
    assert whole.read_text() == "before"
    assert not list(await asyncio.to_thread(lambda: list(tmp_path.glob(".*"))))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, b"", errors.NotSignedIn),
        (403, b"", errors.Forbidden),
        (404, b"", errors.NotFound),
        (404, b"<html>", errors.ServerUnreachable),
        (409, b"", errors.Conflict),
        (412, b"", errors.Outdated),
        (422, b"", errors.RequestInvalid),
        (422, b"\xff", errors.ServerUnreachable),
        (302, b"", errors.ServerUnreachable),
        (500, b"{}", errors.ServerUnreachable),
        (502, b"<html>", errors.ServerUnreachable),
        (503, b"<html>", errors.ServerUnreachable),
        (504, b"", errors.ServerUnreachable),
    ],
)
def test_an_answer_of_something_else_has_an_error_too(
    status: int, body: bytes, kind: type[errors.SmartSpiderError]
) -> None:
    found = error_of(status, body)
    assert type(found) is kind
    assert str(status) in found.message


def test_errors_of_the_server_are_the_same_here() -> None:
    codes = ("outdated", "conflict", "not_built", "robots", "timeout", "store_unavailable", "forbidden")
    for code in (*codes, "request_invalid", "task_invalid"):
        body = f'{{"title":"","status":422,"code":"{code}","detail":"so","hint":"try"}}'.encode()
        found = error_of(422, body)
        assert (found.code, found.message, found.hint) == (code, "so", "try")
    wrong = b'{"title":"","status":422,"code":"x","detail":"so","errors":[{"path":"a.b","message":"no"}]}'
    found = error_of(422, wrong)
    assert isinstance(found, errors.RequestInvalid)
    assert [(one.path, one.message) for one in found.problems] == [("a.b", "no")]
    busy = error_of(429, b"", "7")
    assert isinstance(busy, errors.TooMany)
    assert busy.retry_after_s == 7
    for odd in (None, "", "x", "-1", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT"):
        busy = error_of(429, b"", odd)
        assert isinstance(busy, errors.TooMany)
        assert busy.retry_after_s == 1


async def test_who_is_told_to_come_back_soon_does_and_who_later_is_told_so() -> None:
    async with ScriptableSite() as site, Client(site.url()) as client:
        soon = reply(status=429, headers={"Retry-After": "0"})
        site.on("/healthz", soon, soon, page('{"status": "ok", "version": "1"}'))
        assert (await client.get_health()).status == "ok"
        site.on("/api/auth/me", reply(status=429, headers={"Retry-After": "60"}))
        with pytest.raises(errors.TooMany):
            await client.get_me()
    assert [arrival.path for arrival in site.log].count("/api/auth/me") == 1


async def test_an_answer_of_another_kind_of_server_is_noticed() -> None:
    async with ScriptableSite() as site, Client(site.url()) as client:
        site.on("/healthz", page("<html>Welcome to nginx</html>"), page('{"status": "fine"}'))
        for _ in range(2):
            with pytest.raises(errors.ServerUnreachable, match=client.connection.url):
                await client.get_health()
        site.on("/healthz", page('{"status": "ok", "version": "9", "mood": "good"}'))
        assert (await client.get_health()).version == "9"


@pytest.mark.parametrize(
    "wrong",
    ["", "127.0.0.1:8000", "ftp://a/", "http://", "http://u:p@a/", "http://a/?x", "http://a:x/", "http://["],
)
def test_an_address_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(errors.SettingInvalid):
        check_server_url(wrong)


def test_an_address_may_have_a_path_and_a_slash() -> None:
    assert check_server_url(" https://a.example/spider/ ") == "https://a.example/spider"


async def test_ids_with_odd_characters_stay_one_part_of_the_path(client: Client) -> None:
    for odd in ("a/b", "a?b=c", "a#b", "a b", "ä%2F", "..", ".", ""):
        with pytest.raises(errors.NotFound):
            await client.get_task(odd)
        with pytest.raises(errors.NotFound):
            await client.delete_run(odd)
    assert build_path("/x/", "a/b", "/y") == "/x/a%2Fb/y"


def test_waits_grow_and_have_a_bound() -> None:
    assert all(ClientRetry().wait_s(failures) <= ClientRetry().max_wait_s for failures in (1, 5, 50, 5000))


async def test_a_client_is_made_of_the_environment(url: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{ADMIN_TOKEN}\n")
    there = {"SMARTSPIDER_SERVER": f"{url}/", "SMARTSPIDER_TOKEN_FILE": str(tmp_path / "token")}
    async with Client.from_env(there) as client:
        assert client.connection.url == url
        assert (await client.get_me()).role == "admin"
    with pytest.raises(errors.SettingInvalid, match="SMARTSPIDER_SERVER"):
        Client.from_env({})
    with pytest.raises(errors.SettingInvalid, match="TOKEN_FILE"):
        Client.from_env({**there, "SMARTSPIDER_TOKEN_FILE": str(tmp_path / "none")})


async def test_a_server_with_a_certificate_is_spoken_to_if_it_is_known(
    services: Services, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    config = uvicorn.Config(
        create_app(services),
        port=0,
        log_config=None,
        ws="websockets-sansio",
        ssl_keyfile=str(key),
        ssl_certfile=str(certificate),
    )
    server = uvicorn.Server(config)
    served = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    address = f"https://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        async with Client(address, ADMIN_TOKEN, ca_file=str(certificate)) as client:
            assert (await client.get_me()).role == "admin"
            await services.installation.logs.add([LogLine(1.0, 20, "x", "over TLS")])
            assert (await anext(client.tail_logs(after="0"))).text == "over TLS"
        async with Client(address, ADMIN_TOKEN) as client:
            with pytest.raises(errors.ServerUnreachable, match=r"(?i)certificate"):
                await client.get_me()
    finally:
        server.should_exit = True
        await served
    with pytest.raises(errors.SettingInvalid, match="cannot be read"):
        await Client(address, ca_file=str(tmp_path / "none")).get_me()
