"""What stands around every route: sizes, rates, headers, proxies, and no secret that leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import PASSWORD, add_user, api_with, make_token, sign_in

from smartspider.api.limits import ApiLimits
from smartspider.installation.keys import FILE
from smartspider.operations.services import Services
from smartspider.services.access.sign_in_limits import OF_ADDRESS
from smartspider_testing.waiting import WAIT_S


async def test_large_bodies_are_refused(tmp_path: Path) -> None:
    """By what is announced, before anything is read, and by what comes."""
    async with api_with(tmp_path, max_body_bytes="1000") as api:
        answer = (await api.post("/api/tokens", {"name": "x" * 1000})).expect(413)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json["code"] == "too_large"

        async def pieces(count: int) -> AsyncIterator[bytes]:
            for _ in range(count):
                yield b" " * 100

        chunked = {"Content-Type": "application/json"}
        for path in ("/api/tokens", "/api/users", "/api/tasks", "/api/auth/token"):
            answer = (await api("POST", path, data=pieces(11), headers=chunked)).expect(413)
            assert answer.json["code"] == "too_large", path
            is_task = path == "/api/tasks"
            (await api("POST", path, data=pieces(10), headers=chunked)).expect(422 if is_task else 400)


async def test_an_odd_length_is_refused(api: Caller) -> None:
    host, port = api.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST /api/auth/token HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 18 + b"\r\n\r\n")
    assert b" 413 " in await reader.readline()
    writer.close()


async def test_a_token_comes_no_more_often_than_it_may(tmp_path: Path) -> None:
    async with api_with(tmp_path, rate_limit="1/5") as api:
        tokens = [(await api.post("/api/tokens", {"name": n, "role": "viewer"})).json["token"] for n in "ab"]
        for token in tokens:
            program = api.with_token(token)
            answers = [await program.get("/api/auth/me") for _ in range(7)]
            assert [one.status for one in answers][:5] == [200] * 5
            assert [one.status for one in answers].count(429) >= 1
            refused = next(one for one in answers if one.status == 429)
            assert int(refused.headers["Retry-After"]) >= 1
            assert refused.json["code"] == "too_many"


async def test_the_usual_limit_is_wide_enough_for_many_who_look(services: Services, api: Caller) -> None:
    """Two hundred who look once a second, all with one token, and at the same moment."""
    program = api.with_token(await make_token(services, "shared", "viewer"))
    answers = await asyncio.gather(*(program.get("/api/auth/me") for _ in range(200)))
    assert {one.status for one in answers} == {200}


async def test_no_limit_is_possible(tmp_path: Path) -> None:
    async with api_with(tmp_path, rate_limit="0") as api:
        assert {(await api.get("/api/auth/me")).status for _ in range(20)} == {200}


async def test_every_answer_has_secure_headers(api: Caller) -> None:
    for caller, path in (
        (api, "/api/auth/me"),
        (api, "/api/nothing"),
        (api.with_token(None), "/api/auth/me"),
        (api, "/api/openapi.json"),
        (api, "/healthz"),
    ):
        headers = {name.lower(): value for name, value in (await caller.get(path)).headers.items()}
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "no-store" in headers["cache-control"] or path == "/api/openapi.json"
        assert "set-cookie" not in headers
        assert "strict-transport-security" not in headers
        assert not [name for name in headers if name.startswith("access-control-")]


async def test_no_other_site_is_let_in(api: Caller) -> None:
    """CORS is off: a browser's question before a request is answered with a problem."""
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = await api.with_token(None)("OPTIONS", "/api/tasks", headers=headers)
    assert answer.status in (401, 405)
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


async def test_the_page_of_the_documentation_needs_nobody_else(api: Caller) -> None:
    answer = (await api.with_token(None).get("/api/docs")).expect(200)
    policy = {name.lower(): value for name, value in answer.headers.items()}["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "unsafe" not in policy
    assert b"cdn" not in answer.body.lower()


async def _fails(api: Caller, address: str, **headers: str) -> int:
    """The answer to a wrong sign-in from an address."""
    sent = {"refresh_token": "wrong"}
    told = {"X-Forwarded-For": address, **headers}
    return (await api.with_token(None).post("/api/auth/token", sent, headers=told)).status


async def test_a_trusted_proxy_tells_who_comes(tmp_path: Path) -> None:
    async with api_with(tmp_path, trusted_proxies="127.0.0.0/8, 10.0.0.0/8") as api:
        for _ in range(int(OF_ADDRESS.burst)):
            assert await _fails(api, "203.0.113.7") == 401
        assert await _fails(api, "203.0.113.7") == 429
        assert await _fails(api, "6.6.6.6, 203.0.113.7, 10.1.2.3") == 429, "a caller cannot make one up"
        assert await _fails(api, "203.0.113.8, 10.1.2.3") == 401
        assert await _fails(api, "[2001:db8::1]:443") == 401
        answer = await api.get("/api/auth/me", headers={"X-Forwarded-Proto": "https"})
        assert "strict-transport-security" in {name.lower() for name in answer.headers}


async def test_failed_sign_ins_from_elsewhere_lock_nobody_out(tmp_path: Path) -> None:
    async with api_with(tmp_path, trusted_proxies="127.0.0.0/8") as api:
        user = {"name": "bob", "role": "operator", "password": PASSWORD}
        (await api.post("/api/users", user)).expect(201)

        async def signs_in(address: str, password: str) -> int:
            sent = {"username": "bob", "password": password}
            told = {"X-Forwarded-For": address}
            return (await api.with_token(None).post("/api/auth/token", sent, headers=told)).status

        assert await signs_in("192.0.2.1", PASSWORD) == 200
        wrong = [signs_in(f"203.0.113.{number}", "wrong password") for number in range(15)]
        assert await asyncio.gather(*wrong) == [401] * 15
        assert await signs_in("192.0.2.1", PASSWORD) == 200


@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8,::1"])
async def test_nobody_else_does(tmp_path: Path, trusted: str) -> None:
    async with api_with(tmp_path, trusted_proxies=trusted) as api:
        for number in range(int(OF_ADDRESS.burst)):
            assert await _fails(api, f"203.0.113.{number}") == 401
        assert await _fails(api, "203.0.113.99") == 429
        answer = await api.get("/api/auth/me", headers={"X-Forwarded-Proto": "https"})
        assert "strict-transport-security" not in {name.lower() for name in answer.headers}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YWRtaW46YWRtaW4=",
        "token-of-the-admin",
        "Bearer x y",
        "Bearer " + "x" * 5000,
    ],
)
async def test_what_is_no_bearer_is_nobody(api: Caller, header: str) -> None:
    answer = await api.with_token(None).get("/api/auth/me", headers={"Authorization": header})
    assert answer.expect(401).headers["WWW-Authenticate"] == "Bearer"


async def test_two_authorizations_are_none(api: Caller) -> None:
    headers = [("Authorization", "Bearer token-of-the-admin"), ("Authorization", "Bearer other")]
    async with api.session.get(f"{api.base}/api/auth/me", headers=headers) as answer:
        assert answer.status == 401


async def test_the_scheme_may_be_written_as_one_likes(api: Caller) -> None:
    headers = {"Authorization": "bearer  token-of-the-admin "}
    (await api.with_token(None).get("/api/auth/me", headers=headers)).expect(200)


async def test_a_body_is_not_read_for_who_is_unknown(api: Caller) -> None:
    """401 stands before 422, also where the body makes no sense."""
    headers = {"Content-Type": "application/json"}
    for path in ("/api/tokens", "/api/users", "/api/tasks"):
        answer = await api.with_token(None)("POST", path, data=b"{", headers=headers)
        answer.expect(401)


async def test_no_secret_leaves(services: Services, api: Caller, caplog: pytest.LogCaptureFixture) -> None:
    """Passwords, tokens, refreshes, tickets, the master key: in no answer but their own, no log, no audit."""
    caplog.set_level(logging.DEBUG)
    await add_user(services)
    session = await sign_in(api)
    me = api.with_token(session["access_token"])
    made = (await api.post("/api/tokens", {"name": "x", "role": "viewer"})).json["token"]
    ticket = (await me.post("/api/auth/ticket")).json["ticket"]
    secrets = [
        PASSWORD,
        *(session["access_token"], session["refresh_token"], made, ticket),
        (services.installation.path / FILE).read_text().strip(),
        (await services.installation.users.get_user("bob")).password,
        "token-of-the-admin",
    ]
    answers = [
        await me.post("/api/auth/password", {"password": PASSWORD, "new_password": PASSWORD[:9]}),
        await api.with_token(None).post("/api/auth/token", {"username": PASSWORD, "password": ""}),
        await api.with_token(None).post("/api/auth/token", {"refresh_token": ticket}),
        await api.with_token(None).post("/api/auth/token", {"username": "eve", "password": PASSWORD}),
        await api.with_token(made + "x").get("/api/auth/me"),
        await api.post("/api/users", {"name": "eve", "password": PASSWORD, "rank": PASSWORD}),
        await api.post("/api/tokens", {"name": "x", "role": "viewer", "hash": made}),
    ]
    assert all(answer.status >= 400 for answer in answers)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await api.session.ws_connect(f"{api.base}/api/nothing?ticket={ticket}")
    (await me.post("/api/auth/logout")).expect(204)
    answers += [
        await api.get(path)
        for path in (
            *("/api/users", "/api/users/bob", "/api/tokens", "/api/tokens/1", "/api/audit"),
            *("/api/auth/me", "/healthz", "/readyz", "/api/openapi.json"),
        )
    ]
    for secret in secrets:
        assert not [answer for answer in answers if secret.encode() in answer.body], secret[:8]
        assert secret not in caplog.text, secret[:8]


@pytest.mark.parametrize("limits", [ApiLimits(recheck_s=0.05)])
@pytest.mark.parametrize("kind", ["token", "session"])
async def test_who_watches_is_sent_away_when_they_are_let_in_no_more(
    services: Services, api: Caller, kind: str
) -> None:
    """Over a WebSocket and over server-sent events."""
    await add_user(services)
    token = await make_token(services, "watcher", "viewer") if kind == "token" else None
    watcher = api.with_token(token or (await sign_in(api))["access_token"])
    task = {"name": "shop", "entry_urls": ["http://shop.example/"]}
    task_id = (await api.post("/api/tasks", task)).expect(201).json["id"]
    run_id = (await api.post(f"/api/tasks/{task_id}/start")).expect(202).json["run_id"]
    headers = {"Authorization": f"Bearer {watcher.token}"}
    address = f"{api.base}/api/runs/{run_id}/events"
    async with (
        asyncio.timeout(WAIT_S),
        api.session.ws_connect(address, headers=headers) as socket,
        api.session.get(address, headers=headers) as stream,
    ):
        await socket.receive()
        await stream.content.readline()
        if kind == "token":
            (await api("DELETE", "/api/tokens/1")).expect(200)
        else:
            (await api("PATCH", "/api/users/bob", json={"enabled": False})).expect(200)
        while not socket.closed:
            await socket.receive()
        assert socket.close_code == 1008
        await stream.content.read()
