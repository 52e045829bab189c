"""Signing in with a browser: a cookie for the session, short access tokens for the page."""

from __future__ import annotations

from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, Answer, Caller
from tests.unit.api.doors import PASSWORD, add_user, api_with, make_token

from smartspider.operations.services import Services

SESSION, RENEW = "/api/auth/session", "/api/auth/session/renew"
BOB = {"username": "bob", "password": PASSWORD}
DAYS_14 = 14 * 86_400


def cookie_of(answer: Answer) -> Morsel[str]:
    (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    return cookie


async def start(api: Caller, body: Any, **headers: str) -> Answer:
    return await api.with_token(None).post(SESSION, body, headers=headers)


async def renew(api: Caller, cookie: Morsel[str], **headers: str) -> Answer:
    sent = {"Cookie": f"{cookie.key}={cookie.value}", **headers}
    return await api.with_token(None).post(RENEW, headers=sent)


async def link_of(services: Services) -> str:
    return await services.access.browser_sessions.create_link()


async def is_over(services: Services, api: Caller, started: Answer) -> bool:
    """Neither its access token nor its cookie is accepted."""
    services.access.authenticator.clear_cache()
    asked = await api.with_token(started.json["access_token"]).get("/api/auth/me")
    return (asked.status, (await renew(api, cookie_of(started))).status) == (401, 401)


async def test_the_cookie_is_out_of_reach_of_scripts_sites_and_other_calls(
    services: Services, api: Caller
) -> None:
    await add_user(services)
    answer = (await start(api, BOB)).expect(200)
    cookie = cookie_of(answer)
    assert cookie.key.startswith("smartspider_")
    assert cookie.value.startswith("ssb_")
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/api/auth")
    assert (cookie["max-age"], cookie["domain"], cookie["secure"]) == (str(DAYS_14), "", "")
    assert set(answer.json) == {"access_token", "token_type", "expires_in"}
    assert cookie.value.encode() not in answer.body
    assert "no-store" in answer.headers["Cache-Control"]
    me = (await api.with_token(answer.json["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["name"], me["role"], me["kind"]) == ("bob", "operator", "user")


async def test_the_cookie_is_secure_under_tls(tmp_path: Path) -> None:
    async with api_with(tmp_path, trusted_proxies="127.0.0.0/8") as api:
        answer = await start(api, {"token": ADMIN_TOKEN}, **{"X-Forwarded-Proto": "https"})
        cookie = cookie_of(answer.expect(200))
        assert cookie["secure"] is True
        assert cookie.key.startswith("__Secure-smartspider_")
        (await renew(api, cookie, **{"X-Forwarded-Proto": "https"})).expect(200)
        (await renew(api, cookie)).expect(401)


async def test_two_installations_on_one_host_have_cookies_of_their_own(tmp_path: Path) -> None:
    names = set()
    for folder in ("a", "b"):
        async with api_with(tmp_path / folder) as api:
            names.add(cookie_of((await start(api, {"token": ADMIN_TOKEN})).expect(200)).key)
    assert len(names) == 2


async def test_no_call_but_renew_reads_the_cookie(services: Services, api: Caller) -> None:
    await add_user(services)
    cookie = cookie_of(await start(api, BOB))
    headers = {"Cookie": f"{cookie.key}={cookie.value}"}
    nobody = api.with_token(None)
    for method, path in (
        *(("GET", "/api/auth/me"), ("POST", "/api/auth/ticket"), ("DELETE", SESSION)),
        *(("GET", "/api/runs"), ("POST", "/api/auth/logout"), ("GET", "/metrics")),
    ):
        assert (await nobody(method, path, headers=headers)).status == 401, path
    assert (await api.with_token(cookie.value).get("/api/auth/me")).status == 401
    sent = {"refresh_token": cookie.value}
    assert (await nobody.post("/api/auth/token", sent)).status == 401
    (await renew(api, cookie)).expect(200)


async def test_tabs_reloads_and_restarts_share_a_session(
    services: Services, api: Caller, tmp_path: Path
) -> None:
    """Unlike a refresh token, the cookie is good any number of times."""
    await add_user(services)
    started = await start(api, BOB)
    for _ in range(5):
        renewed = (await renew(api, cookie_of(started))).expect(200)
        assert set(renewed.json) == {"access_token", "token_type", "expires_in"}
        assert "Set-Cookie" not in renewed.headers
        (await api.with_token(renewed.json["access_token"]).get("/api/auth/me")).expect(200)
    async with api_with(tmp_path / "data") as after:
        (await renew(after, cookie_of(started))).expect(200)
        (await after.with_token(started.json["access_token"]).get("/api/auth/me")).expect(200)


@pytest.mark.parametrize("path", [SESSION, RENEW])
async def test_pages_of_other_origins_and_ports_get_nothing(
    services: Services, api: Caller, path: str
) -> None:
    await add_user(services)
    cookie = cookie_of(await start(api, BOB))
    host = api.base.removeprefix("http://")
    for headers, status in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}, 200),
    ):
        sent = {"Cookie": f"{cookie.key}={cookie.value}", **headers}
        answer = await api.with_token(None).post(path, BOB if path == SESSION else None, headers=sent)
        assert answer.status == status, headers
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        assert status == 200 or "Set-Cookie" not in answer.headers


async def test_signing_out_ends_the_session_and_deletes_the_cookie(services: Services, api: Caller) -> None:
    await add_user(services)
    here, there = await start(api, BOB), await start(api, BOB)
    answer = await api.with_token(here.json["access_token"])("DELETE", SESSION)
    cookie = cookie_of(answer.expect(204))
    assert (cookie.value, cookie["max-age"], cookie["path"]) == ("", "0", "/api/auth")
    assert await is_over(services, api, here)
    assert not await is_over(services, api, there)
    gone = await renew(api, cookie_of(here))
    assert cookie_of(gone)["max-age"] == "0", "a cookie that is good for nothing is deleted"


async def test_signing_out_everywhere_ends_all_sessions_of_the_user(services: Services, api: Caller) -> None:
    await add_user(services)
    await add_user(services, "eve")
    sessions = [await start(api, BOB) for _ in range(2)]
    other = await start(api, {"username": "eve", "password": PASSWORD})
    refresh = (await api.with_token(None).post("/api/auth/token", BOB)).json["refresh_token"]
    token = sessions[0].json["access_token"]
    (await api.with_token(token)("DELETE", f"{SESSION}?everywhere=true")).expect(204)
    for session in sessions:
        assert await is_over(services, api, session)
    (await api.with_token(None).post("/api/auth/token", {"refresh_token": refresh})).expect(401)
    assert not await is_over(services, api, other)


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"enabled": False}, {"password": "another one here"}])
async def test_what_an_admin_does_to_a_user_ends_their_browser_sessions(
    services: Services, api: Caller, change: dict[str, Any]
) -> None:
    await add_user(services)
    session = await start(api, BOB)
    (await api("PATCH", "/api/users/bob", json=change)).expect(200)
    assert await is_over(services, api, session)


async def test_a_session_of_a_token_has_its_rights_and_ends_with_it(services: Services, api: Caller) -> None:
    secret = await make_token(services, "ci", "viewer", scopes=("runs:read",))
    session = (await start(api, {"token": secret})).expect(200)
    me = (await api.with_token(session.json["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["name"], me["role"], me["scopes"], me["kind"]) == (
        *("token:ci", "viewer", ["runs:read"]),
        "token",
    )
    (await api.with_token(session.json["access_token"]).get("/api/tasks")).expect(403)
    (token,) = (await api.get("/api/tokens")).json["items"]
    (await api("DELETE", f"/api/tokens/{token['id']}")).expect(200)
    assert await is_over(services, api, session)


async def test_a_session_of_the_token_in_the_settings_is_short_and_ends_without_it(
    api: Caller, tmp_path: Path
) -> None:
    session = (await start(api, {"token": ADMIN_TOKEN})).expect(200)
    assert cookie_of(session)["max-age"] == str(12 * 3600)
    me = (await api.with_token(session.json["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["name"], me["kind"]) == ("admin", "installation")
    async with api_with(tmp_path / "data", admin_token="") as other:
        (await other.with_token(session.json["access_token"]).get("/api/auth/me")).expect(401)


async def test_an_access_token_starts_no_session(services: Services, api: Caller) -> None:
    await add_user(services)
    session = await start(api, BOB)
    (await start(api, {"token": session.json["access_token"]})).expect(401)


async def test_a_link_signs_in_once(services: Services, api: Caller) -> None:
    await add_user(services, "root", "admin")
    link = await link_of(services)
    session = (await start(api, {"link": link})).expect(200)
    me = (await api.with_token(session.json["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["name"], me["role"], me["kind"]) == ("root", "admin", "user")
    (await start(api, {"link": link})).expect(401)
    (await renew(api, cookie_of(session))).expect(200)


async def test_a_link_signs_in_the_admin_of_the_settings_where_there_is_no_other(
    services: Services, api: Caller
) -> None:
    session = (await start(api, {"link": await link_of(services)})).expect(200)
    me = (await api.with_token(session.json["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["role"], me["kind"]) == ("admin", "installation")


async def test_a_link_is_nothing_but_a_link(services: Services, api: Caller) -> None:
    await add_user(services, "root", "admin")
    link = await link_of(services)
    nobody = api.with_token(None)
    (await api.with_token(link).get("/api/auth/me")).expect(401)
    (await nobody.get(f"/api/auth/me?ticket={link}")).expect(401)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await api.session.ws_connect(f"{api.base}/api/logs/tail?ticket={link}")
    assert refused.value.status == 401
    ticket = (await api.post("/api/auth/ticket")).json["ticket"]
    (await start(api, {"link": ticket})).expect(401)
    (await start(api, {"link": link})).expect(200)


@pytest.mark.parametrize(
    "body",
    [
        *(None, {}, [], {"username": "bob"}, {"password": PASSWORD}, {"token": ""}, {"link": "x" * 5000}),
        *({**BOB, "token": "x"}, {"token": "x", "link": "y"}, {**BOB, "more": 1}, {"refresh_token": "x"}),
    ],
)
async def test_what_is_no_way_to_sign_in_is_not_valid(api: Caller, body: object) -> None:
    answer = (await start(api, body)).expect(422)
    assert PASSWORD.encode() not in answer.body
    assert "Set-Cookie" not in answer.headers


async def test_wrong_secrets_are_limited_and_a_browser_without_a_session_is_not(
    services: Services, api: Caller
) -> None:
    await add_user(services)
    nobody = api.with_token(None)
    assert {(await nobody.post(RENEW)).status for _ in range(100)} == {401}
    statuses = [(await start(api, {"link": f"ssl_{number}"})).status for number in range(100)]
    assert (statuses[0], statuses[-1]) == (401, 429)


async def test_a_ticket_for_an_address_opens_that_one_once(services: Services, api: Caller) -> None:
    nobody = api.with_token(None)

    async def ticket(address: str) -> str:
        secret: str = (await api.post("/api/auth/ticket", {"for": address})).expect(200).json["ticket"]
        return secret

    secret = await ticket("/api/tasks?limit=1")
    (await nobody.get(f"/api/tasks?limit=2&ticket={secret}")).expect(401)
    (await nobody.get(f"/api/tasks?ticket={secret}")).expect(401)
    (await nobody.get(f"/api/runs?limit=1&ticket={secret}")).expect(401)
    (await nobody.post(f"/api/tasks?limit=1&ticket={secret}", {})).expect(401)
    (await nobody.get(f"/api/tasks?limit=1&ticket={secret}")).expect(200)
    (await nobody.get(f"/api/tasks?limit=1&ticket={secret}")).expect(401)
    (await nobody.get(f"/api/tasks/?ticket={await ticket('/api/tasks')}")).expect(200)
    viewer = api.with_token(await make_token(services, "ci", "worker"))
    secret = (await viewer.post("/api/auth/ticket", {"for": "/api/tasks"})).json["ticket"]
    (await nobody.get(f"/api/tasks?ticket={secret}")).expect(403)


async def test_a_ticket_for_a_websocket_opens_that_one(api: Caller) -> None:
    base = api.base.replace("http", "ws", 1)
    sent = {"for": "/api/logs/tail?level=info"}
    ticket = (await api.post("/api/auth/ticket", sent)).json["ticket"]
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await api.session.ws_connect(f"{base}/api/logs/tail?ticket={ticket}")
    async with api.session.ws_connect(f"{base}/api/logs/tail?level=info&ticket={ticket}") as socket:
        assert not socket.closed


@pytest.mark.parametrize("address", ["", "/", "/metrics", "http://x/api/runs", "//x/api/", "api/runs", 7])
async def test_a_ticket_opens_nothing_but_the_api(api: Caller, address: object) -> None:
    (await api.post("/api/auth/ticket", {"for": address})).expect(422)
