"""Tokens of programs over REST."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.api.asking import Caller
from tests.unit.api.doors import add_user, make_token, sign_in

from smartspider.core.access import ROLES, Role
from smartspider.operations.services import Services
from smartspider.services.access.secrets import hash_secret

DAY_S = 86_400


async def test_a_token_shows_its_secret_once(api: Caller) -> None:
    wish = {"name": "ci", "role": "operator", "scopes": ["runs:read", "runs:write"], "expires_in_s": DAY_S}
    answer = (await api.post("/api/tokens", wish)).expect(201)
    made = answer.json
    assert answer.headers["Location"] == f"/api/tokens/{made['id']}"
    assert made["token"].startswith("sst_")
    assert len(made["token"]) >= 4 + 43
    assert (made["actor"], made["created_by"], made["scopes"]) == ("token:ci", "admin", wish["scopes"])
    shown = [
        (await api.get("/api/tokens")).expect(200),
        (await api.get(answer.headers["Location"])).expect(200),
    ]
    assert all(made["token"].encode() not in one.body for one in shown)
    assert shown[1].json == {key: value for key, value in made.items() if key != "token"}
    me = (await api.with_token(made["token"]).get("/api/auth/me")).expect(200).json
    assert me == {
        "name": "token:ci",
        "role": "operator",
        "scopes": wish["scopes"],
        "may": wish["scopes"],
        "kind": "token",
    }
    assert (await api.get(answer.headers["Location"])).json["used_at"] is not None


async def test_only_a_hash_is_kept(services: Services) -> None:
    secret = await make_token(services, "ci", "viewer")
    assert await services.installation.users.find_token(hash_secret(secret)) is not None
    files = [file for file in services.installation.path.iterdir() if file.is_file()]
    assert files
    assert all(secret.encode() not in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    ("wish", "path"),
    [
        ({"name": "x"}, "role"),
        ({"name": "", "role": "viewer"}, "name"),
        ({"name": "a:b", "role": "viewer"}, "name"),
        ({"name": "x\n", "role": "viewer"}, "name"),
        ({"name": "x" * 65, "role": "viewer"}, "name"),
        ({"name": "x", "role": "root"}, "role"),
        ({"name": "x", "role": "viewer", "scopes": ["runs:fly"]}, "scopes[0]"),
        ({"name": "x", "role": "viewer", "scopes": ["runs:read"] * 99}, "scopes"),
        ({"name": "x", "role": "viewer", "expires_in_s": 0}, "expires_in_s"),
        ({"name": "x", "role": "viewer", "expires_in_s": 1e300}, "expires_in_s"),
        ({"name": "x", "role": "viewer", "secret": "mine"}, "secret"),
    ],
)
async def test_what_is_no_token_is_refused(api: Caller, wish: dict[str, Any], path: str) -> None:
    problem = (await api.post("/api/tokens", wish)).expect(422).json
    assert problem["errors"][0]["path"] == path
    assert (await api.get("/api/tokens")).json["items"] == []


async def test_names_of_good_tokens_are_unique(api: Caller) -> None:
    first = (await api.post("/api/tokens", {"name": "ci", "role": "viewer"})).expect(201).json
    assert (await api.post("/api/tokens", {"name": "ci", "role": "admin"})).expect(409).json["code"] == (
        "conflict"
    )
    (await api("DELETE", f"/api/tokens/{first['id']}")).expect(200)
    (await api.post("/api/tokens", {"name": "ci", "role": "viewer"})).expect(201)


async def test_what_is_revoked_is_good_no_more(api: Caller) -> None:
    made = (await api.post("/api/tokens", {"name": "ci", "role": "viewer"})).expect(201).json
    program = api.with_token(made["token"])
    (await program.get("/api/auth/me")).expect(200)
    for _ in range(2):
        gone = (await api("DELETE", f"/api/tokens/{made['id']}")).expect(200).json
        assert gone["revoked_at"] is not None
    problem = (await program.get("/api/auth/me")).expect(401).json
    assert "revoked" in problem["detail"]


async def test_an_operator_makes_tokens_for_themselves(services: Services, api: Caller) -> None:
    await add_user(services)
    await add_user(services, "eve")
    me = api.with_token((await sign_in(api))["access_token"])
    made = (await me.post("/api/tokens", {"name": "mine", "role": "viewer"})).expect(201).json
    assert made["actor"] == made["created_by"] == "bob"
    (await me.post("/api/tokens", {"name": "too", "role": "operator", "user": "bob"})).expect(201)
    for wish in (
        {"name": "high", "role": "admin"},
        {"name": "other", "role": "viewer", "user": "eve"},
        {"name": "itself", "role": "viewer", "user": "token:ci"},
    ):
        (await me.post("/api/tokens", wish)).expect(403)
    own = (await me.get("/api/tokens")).expect(200).json["items"]
    assert [one["name"] for one in own] == ["mine", "too"]
    (await me.get("/api/tokens?actor=eve")).expect(403)


async def test_tokens_of_others_are_not_ones_own(services: Services, api: Caller) -> None:
    await add_user(services)
    await make_token(services, "ci", "viewer")
    me = api.with_token((await sign_in(api))["access_token"])
    (await me.get("/api/tokens/1")).expect(403)
    (await me("DELETE", "/api/tokens/1")).expect(403)
    assert (await api.get("/api/tokens/1")).json["revoked_at"] is None


async def test_a_limited_token_makes_no_wider_one(services: Services, api: Caller) -> None:
    secret = await make_token(services, "root", "admin", scopes=["tokens:write", "runs:read"])
    program = api.with_token(secret)
    wider = {"name": "x", "role": "viewer", "scopes": ["runs:read", "tasks:read"]}
    (await program.post("/api/tokens", wider)).expect(403)
    made = (await program.post("/api/tokens", {"name": "x", "role": "viewer"})).expect(201).json
    assert made["scopes"] == ["runs:read", "tokens:write"]


async def test_an_admin_makes_tokens_for_users(services: Services, api: Caller) -> None:
    await add_user(services)
    made = (await api.post("/api/tokens", {"name": "a", "role": "operator", "user": "bob"})).expect(201).json
    assert (await api.with_token(made["token"]).get("/api/auth/me")).json["name"] == "bob"
    (await api.post("/api/tokens", {"name": "b", "role": "admin", "user": "bob"})).expect(409)
    (await api.post("/api/tokens", {"name": "c", "role": "viewer", "user": "nobody"})).expect(404)
    (await api("PATCH", "/api/users/bob", json={"role": "viewer"})).expect(200)
    (await api.with_token(made["token"]).get("/api/auth/me")).expect(401)


@pytest.mark.parametrize("role", ROLES)
async def test_a_token_of_each_role_is_let_in_as_that(services: Services, api: Caller, role: Role) -> None:
    me = await api.with_token(await make_token(services, "x", role)).get("/api/auth/me")
    assert me.expect(200).json["role"] == role


async def test_a_list_of_tokens_comes_in_pages(services: Services, api: Caller) -> None:
    for number in range(5):
        await make_token(services, f"t{number}", "viewer")
    names, query = [], "?limit=2"
    while query:
        page = (await api.get(f"/api/tokens{query}")).expect(200).json
        names += [one["name"] for one in page["items"]]
        query = f"?limit=2&cursor={page['next']}" if page["next"] else ""
    assert names == [f"t{number}" for number in range(5)]
    (await api.get("/api/tokens?cursor=x")).expect(422)


async def test_asking_twice_with_a_key_makes_one_token(api: Caller) -> None:
    """The secret is not kept, so the second answer cannot have it."""
    headers = {"Idempotency-Key": "k"}
    wish = {"name": "ci", "role": "viewer"}
    (await api.post("/api/tokens", wish, headers=headers)).expect(201)
    (await api.post("/api/tokens", wish, headers=headers)).expect(409)
    assert len((await api.get("/api/tokens")).json["items"]) == 1


async def test_what_is_not_there_is_not_found(api: Caller) -> None:
    for path in ("/api/tokens/9", "/api/tokens/x", f"/api/tokens/{'9' * 30}"):
        (await api.get(path)).expect(404)
        (await api("DELETE", path)).expect(404)
