"""Signing in, staying in, and signing out."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import PASSWORD, add_user, api_with, make_token, sign_in

from smartspider.operations.services import Services
from smartspider.services.access.sign_in_limits import OF_ADDRESS, OF_NAME

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NEW = "another four random words"


async def test_a_password_gives_a_session(services: Services, api: Caller) -> None:
    await add_user(services)
    session = await sign_in(api)
    assert set(session) == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert (session["token_type"], session["expires_in"]) == ("bearer", 900)
    me = (await api.with_token(session["access_token"]).get("/api/auth/me")).expect(200).json
    assert (me["name"], me["role"], me["scopes"], me["kind"]) == ("bob", "operator", [], "user")
    assert "runs:write" in me["may"]
    assert "users:read" not in me["may"]


async def test_the_token_of_the_settings_is_an_admin(api: Caller) -> None:
    me = (await api.get("/api/auth/me")).expect(200).json
    assert (me["name"], me["role"], me["kind"]) == ("admin", "admin", "installation")


async def test_a_form_as_oauth_has_it_will_do(services: Services, api: Caller) -> None:
    await add_user(services)
    somebody = api.with_token(None)
    body = f"grant_type=password&username=bob&password={PASSWORD}&scope=&client_id="
    session = (await somebody("POST", "/api/auth/token", data=body, headers=FORM)).expect(200).json
    body = f"grant_type=refresh_token&refresh_token={session['refresh_token']}"
    (await somebody("POST", "/api/auth/token", data=body, headers=FORM)).expect(200)
    body = f'{{"username": "bob", "password": "{PASSWORD}"}}'
    (await somebody("POST", "/api/auth/token", data=body, headers=FORM)).expect(200)


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "x",
        {"username": "bob"},
        {"password": PASSWORD},
        {"username": "bob", "password": PASSWORD, "refresh_token": "x"},
        {"username": "bob", "refresh_token": "x"},
        {"username": "bob", "password": PASSWORD, "more": 1},
        {"username": 7, "password": PASSWORD},
        {"username": "bob", "password": ""},
        {"username": "b" * 65, "password": PASSWORD},
        {"refresh_token": "x" * 5000},
    ],
)
async def test_what_is_no_sign_in_is_not_valid(api: Caller, body: object) -> None:
    answer = (await api.with_token(None).post("/api/auth/token", body)).expect(422)
    assert answer.json["code"] == "request_invalid"
    assert PASSWORD.encode() not in answer.body


async def test_other_bodies_are_refused(api: Caller) -> None:
    somebody = api.with_token(None)
    for kind, body, status in (
        ("text/plain", b"x", 415),
        ("application/json", b"{", 400),
        ("application/json", b'{"username": "\xff"}', 400),
        (FORM["Content-Type"], b"username=%FF&password=%FF", 401),
        (FORM["Content-Type"], b"\xff=1", 400),
        (FORM["Content-Type"], b"&".join(b"a=1" for _ in range(30)), 400),
        ("application/json", b'"' + b"x" * 30_000 + b'"', 413),
    ):
        answer = await somebody("POST", "/api/auth/token", data=body, headers={"Content-Type": kind})
        assert answer.status == status, (kind, body, answer.body)


async def test_nobody_learns_what_was_wrong(services: Services, api: Caller) -> None:
    await add_user(services)
    await add_user(services, "gone")
    (await api("PATCH", "/api/users/gone", json={"enabled": False})).expect(200)
    (await api.post("/api/users", {"name": "token-only"})).expect(201)
    answers = []
    for name, password in (
        *(("bob", "wrong password"), ("nobody", PASSWORD), ("gone", PASSWORD)),
        *(("token-only", PASSWORD), ("bob", PASSWORD.upper()), ("BOB", PASSWORD), ("bob", "x" * 4000)),
    ):
        sent = {"username": name, "password": password}
        answer = (await api.with_token(None).post("/api/auth/token", sent)).expect(401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        answers.append(answer.body)
    assert len(set(answers)) == 1


async def test_a_refresh_gives_the_next_pair_once(services: Services, api: Caller) -> None:
    await add_user(services)
    first = await sign_in(api)
    somebody = api.with_token(None)
    second = (
        (await somebody.post("/api/auth/token", {"refresh_token": first["refresh_token"]})).expect(200).json
    )
    assert second["refresh_token"] != first["refresh_token"]
    for session in (first, second):
        (await api.with_token(session["access_token"]).get("/api/auth/me")).expect(200)
    services.access.authenticator.clear_cache()
    (await somebody.post("/api/auth/token", {"refresh_token": first["refresh_token"]})).expect(401)
    services.access.authenticator.clear_cache()
    for session in (first, second):
        (await api.with_token(session["access_token"]).get("/api/auth/me")).expect(401)
        (await somebody.post("/api/auth/token", {"refresh_token": session["refresh_token"]})).expect(401)


async def test_signing_out_ends_this_session_at_once(services: Services, api: Caller) -> None:
    await add_user(services)
    here, there = await sign_in(api), await sign_in(api)
    (await api.with_token(here["access_token"]).post("/api/auth/logout")).expect(204)
    (await api.with_token(here["access_token"]).get("/api/auth/me")).expect(401)
    (await api.with_token(None).post("/api/auth/token", {"refresh_token": here["refresh_token"]})).expect(401)
    (await api.with_token(there["access_token"]).get("/api/auth/me")).expect(200)


async def test_a_token_cannot_sign_out_nor_change_a_password(services: Services, api: Caller) -> None:
    await add_user(services)
    program = api.with_token(await make_token(services, "of-bob", "viewer", user="bob"))
    (await program.post("/api/auth/logout")).expect(409)
    sent = {"password": PASSWORD, "new_password": NEW}
    (await program.post("/api/auth/password", sent)).expect(409)


async def test_another_password_ends_all_sessions(services: Services, api: Caller) -> None:
    await add_user(services)
    here, there = await sign_in(api), await sign_in(api)
    me = api.with_token(here["access_token"])
    (await me.post("/api/auth/password", {"password": "wrong one", "new_password": NEW})).expect(401)
    (await me.post("/api/auth/password", {"password": PASSWORD, "new_password": "short"})).expect(422)
    (await me.post("/api/auth/password", {"password": PASSWORD, "new_password": "aaaaaaaaaaaa"})).expect(422)
    sent = {"password": PASSWORD, "new_password": NEW}
    session = (await me.post("/api/auth/password", sent)).expect(200).json
    for over in (here, there):
        (await api.with_token(over["access_token"]).get("/api/auth/me")).expect(401)
    (await api.with_token(session["access_token"]).get("/api/auth/me")).expect(200)
    (await api.with_token(None).post("/api/auth/token", {"username": "bob", "password": PASSWORD})).expect(
        401
    )
    await sign_in(api, password=NEW)


async def test_attempts_are_limited_by_name(services: Services, api: Caller) -> None:
    """The right password does not help then; sign-ins that go well are not counted."""
    await add_user(services)
    for _ in range(int(OF_NAME.burst) + 2):
        await sign_in(api)
    statuses = []
    for _ in range(int(OF_NAME.burst) + 1):
        sent = {"username": "bob", "password": "wrong password"}
        statuses.append((await api.with_token(None).post("/api/auth/token", sent)).status)
    assert statuses == [401] * int(OF_NAME.burst) + [429]
    answer = await api.with_token(None).post("/api/auth/token", {"username": "bob", "password": PASSWORD})
    assert int(answer.expect(429).headers["Retry-After"]) >= 1


async def test_attempts_are_limited_by_address(api: Caller) -> None:
    statuses = []
    for number in range(int(OF_ADDRESS.burst) + 1):
        answer = await api.with_token(None).post("/api/auth/token", {"refresh_token": f"x{number}"})
        statuses.append(answer.status)
    assert statuses == [401] * int(OF_ADDRESS.burst) + [429]
    (await api.get("/api/auth/me")).expect(200)


async def test_pages_of_other_sites_cannot_sign_in(services: Services, api: Caller) -> None:
    await add_user(services)
    host = api.base.removeprefix("http://")
    body = f"username=bob&password={PASSWORD}"
    for headers, status in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ):
        answer = await api.with_token(None)("POST", "/api/auth/token", data=body, headers={**FORM, **headers})
        assert answer.status == status, headers
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "Set-Cookie" not in answer.headers


async def test_what_an_admin_does_to_a_user_bites_at_once(services: Services, api: Caller) -> None:
    await add_user(services)
    for change in ({"role": "viewer"}, {"password": NEW}, {"enabled": False}):
        await services.access.users.change_user(1, actor="test", is_enabled=True)
        hashed = await services.access.passwords.hash(PASSWORD)
        await services.access.users.change_user(1, actor="test", password=hashed)
        session = await sign_in(api)
        me = api.with_token(session["access_token"])
        (await me.get("/api/auth/me")).expect(200)
        (await api("PATCH", "/api/users/bob", json=change)).expect(200)
        (await me.get("/api/auth/me")).expect(401)


async def test_a_session_is_good_for_the_installation_it_was_made_in(
    services: Services, api: Caller, tmp_path: Path
) -> None:
    await add_user(services)
    session = await sign_in(api)
    async with api_with(tmp_path / "data", master_key="another master key") as other:
        (await other.with_token(session["access_token"]).get("/api/auth/me")).expect(401)
    async with api_with(tmp_path / "data") as same:
        (await same.with_token(session["access_token"]).get("/api/auth/me")).expect(200)


async def test_a_ticket_opens_one_websocket(api: Caller) -> None:
    """Whatever the routes behind it are: the door is before them."""
    ticket = (await api.post("/api/auth/ticket")).expect(200).json
    assert ticket["expires_in"] == 30
    statuses = []
    for query in (f"?ticket={ticket['ticket']}", f"?ticket={ticket['ticket']}", "?ticket=x", ""):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await api.session.ws_connect(f"{api.base}/api/no/such/socket{query}")
        statuses.append(refused.value.status)
    assert statuses[0] not in (401, 500)
    assert statuses[1:] == [401, 401, 401]


async def test_a_ticket_is_no_bearer_token(api: Caller) -> None:
    ticket = (await api.post("/api/auth/ticket")).expect(200).json["ticket"]
    (await api.with_token(ticket).get("/api/auth/me")).expect(401)
    (await api.with_token(None).get(f"/api/auth/me?ticket={ticket}")).expect(401)
