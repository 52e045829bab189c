"""Users over REST, and the first of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import SETTINGS, Caller, open_services
from tests.unit.api.doors import PASSWORD, add_user, make_token, sign_in

from smartspider.installation.settings import Settings
from smartspider.operations.services import Services
from smartspider.services.access.access import create_first_admin


async def test_a_user_is_added_changed_and_forgotten(api: Caller) -> None:
    sent = {"name": "bob", "role": "operator", "password": PASSWORD}
    answer = (await api.post("/api/users", sent)).expect(201)
    user = answer.json
    assert answer.headers["Location"] == f"/api/users/{user['id']}"
    assert (user["name"], user["role"], user["enabled"], user["has_password"]) == (
        "bob",
        "operator",
        True,
        True,
    )
    assert (await api.get(f"/api/users/{user['id']}")).json == user
    assert (await api.get("/api/users/bob")).json == user
    assert (await api.get("/api/users")).json == {"items": [user], "next": None}
    changed = (await api("PATCH", "/api/users/bob", json={"role": "viewer", "enabled": False})).expect(200)
    assert (changed.json["role"], changed.json["enabled"]) == ("viewer", False)
    assert changed.json["disabled_at"] is not None
    (await api("DELETE", "/api/users/bob")).expect(204)
    (await api.get("/api/users/bob")).expect(404)
    (await api("DELETE", "/api/users/bob")).expect(404)


async def test_no_answer_holds_a_password_or_its_hash(services: Services, api: Caller) -> None:
    await add_user(services)
    kept = (await services.installation.users.get_user("bob")).password
    for path in ("/api/users", "/api/users/bob", "/api/audit"):
        answer = (await api.get(path)).expect(200)
        assert PASSWORD.encode() not in answer.body
        assert kept.encode() not in answer.body
        assert b"argon2" not in answer.body


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"name": "bob", "role": "king"},
        {"name": "token:ci"},
        {"name": "system"},
        {"name": "1"},
        {"name": "b b"},
        {"name": "bob\n"},
        {"name": "x" * 65},
        {"name": "bob", "password": "short"},
        {"name": "bob", "password": "a" * 20},
        {"name": "bobbobbobbob", "password": "bobBobbobbob"},
        {"name": "bob", "password": "canary" * 100},
        {"name": "bob", "password": 7},
        {"name": "bob", "session": 7},
    ],
)
async def test_what_is_no_user_is_refused(api: Caller, sent: dict[str, Any]) -> None:
    answer = (await api.post("/api/users", sent)).expect(422)
    assert answer.json["errors"]
    assert b"canary" not in answer.body
    assert (await api.get("/api/users")).json["items"] == []


async def test_a_name_is_taken_once(services: Services, api: Caller) -> None:
    await add_user(services)
    (await api.post("/api/users", {"name": "bob"})).expect(409)


async def test_the_last_admin_stays(services: Services, api: Caller) -> None:
    await add_user(services, "root", "admin")
    for change in ({"role": "viewer"}, {"enabled": False}):
        refused = (await api("PATCH", "/api/users/root", json=change)).expect(409).json
        assert "last enabled admin" in refused["detail"]
    (await api("DELETE", "/api/users/root")).expect(409)


async def test_only_admins_see_users(services: Services, api: Caller) -> None:
    await add_user(services)
    me = api.with_token((await sign_in(api))["access_token"])
    for method, path in (("GET", "/api/users"), ("GET", "/api/users/bob"), ("PATCH", "/api/users/bob")):
        (await me(method, path, json={"role": "admin"} if method == "PATCH" else None)).expect(403)
    (await me("DELETE", "/api/users/bob")).expect(403)


async def test_a_list_of_users_comes_in_pages(services: Services, api: Caller) -> None:
    for number in range(3):
        await services.installation.users.add_user(f"u{number}", "", "viewer", actor="test")
    first = (await api.get("/api/users?limit=2")).expect(200).json
    second = (await api.get(f"/api/users?limit=2&cursor={first['next']}")).expect(200).json
    assert [one["name"] for one in first["items"] + second["items"]] == ["u0", "u1", "u2"]
    assert second["next"] is None


async def test_a_user_is_created_once_with_a_key(api: Caller) -> None:
    sent, headers = {"name": "bob", "password": PASSWORD}, {"Idempotency-Key": "k"}
    first = (await api.post("/api/users", sent, headers=headers)).expect(201)
    again = (await api.post("/api/users", sent, headers=headers)).expect(201)
    assert again.json == first.json
    assert again.headers["idempotency-replayed"] == "true"


async def test_the_first_admin_is_told_their_token_once(tmp_path: Any) -> None:
    async with open_services(tmp_path, Settings()) as services:
        token = await create_first_admin(services.installation)
        assert token is not None
        principal = await services.access.authenticator.principal(token.encode())
        assert (principal.name, principal.role) == ("admin", "admin")
        assert await create_first_admin(services.installation) is None
        assert (await services.installation.users.get_user("admin")).password == ""
    async with open_services(tmp_path, Settings()) as services:
        assert await create_first_admin(services.installation) is None


async def test_who_set_an_admin_token_needs_no_first_admin(tmp_path: Any) -> None:
    async with open_services(tmp_path, SETTINGS) as services:
        assert await create_first_admin(services.installation) is None
        assert await services.installation.users.find_users() == []


async def test_nobody_signs_in_where_nobody_has_a_password(services: Services, api: Caller) -> None:
    """There is no password to begin with, also not an empty one."""
    await services.installation.users.add_first_admin("admin", "")
    for password in (" ", "admin", "password", "changeme"):
        sent = {"username": "admin", "password": password}
        (await api.with_token(None).post("/api/auth/token", sent)).expect(401)


async def test_a_deleted_users_tokens_are_good_no_more(services: Services, api: Caller) -> None:
    await add_user(services)
    program = api.with_token(await make_token(services, "x", "viewer", user="bob"))
    (await program.get("/api/auth/me")).expect(200)
    (await api("DELETE", "/api/users/bob")).expect(204)
    (await program.get("/api/auth/me")).expect(401)
