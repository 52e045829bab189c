"""Who may not is refused, at every route there is: made from the app itself, so that none is forgotten."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import jwt
import msgspec
import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import Route
from tests.unit.api.asking import Answer, Caller
from tests.unit.api.doors import PASSWORD, add_user, make_token, sign_in

from smartspider.api.app import create_app
from smartspider.api.middleware.authentication import PUBLIC_PATHS, is_public
from smartspider.core.access import GRANTS, ROLES, SCOPES, NewToken
from smartspider.installation.keys import Keys
from smartspider.operations.services import Services
from smartspider.services.access.secrets import hash_secret, new_secret
from smartspider.services.access.session_tokens import ALGORITHM, SessionTokens
from smartspider_testing.clock import ManualClock

TASK = {"name": "of-admin", "entry_urls": ["http://shop.example/"]}
AT_ONCE = 16


class Operation(msgspec.Struct, frozen=True):
    """A call of the API, as its document tells it."""

    method: str
    path: str
    needs: str | None
    is_secured: bool
    example: Any
    takes_task: bool
    """Whether its body may name a task."""

    def at(self, **ids: str) -> str:
        """The path, with ids in it; 1 where none is given."""
        return re.sub(r"\{(\w+)[^}]*\}", lambda found: ids.get(found[1], "1"), self.path)


def operations(document: dict[str, Any]) -> list[Operation]:
    return [
        Operation(
            *(method.upper(), path, told.get("x-needs"), bool(told.get("security"))),
            example=_example(document, told),
            takes_task=any("task_id" in schema.get("properties", {}) for schema in _schemas(document, told)),
        )
        for path, methods in document["paths"].items()
        for method, told in methods.items()
    ]


def _example(document: dict[str, Any], told: dict[str, Any]) -> Any:
    """What the document shows as a body of a call."""
    content = told.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return None
    if "example" in content:
        return content["example"]
    for one in content.get("examples", {}).values():
        return one["value"]
    for schema in _schemas(document, told):
        if schema.get("examples"):
            return schema["examples"][0]
    return {}


def _schemas(document: dict[str, Any], told: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of what a call takes as JSON."""
    schema = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    known = document["components"]["schemas"]
    return [
        known.get(one.get("$ref", "").rpartition("/")[2], one) for one in (schema, *schema.get("anyOf", ()))
    ]


@pytest.fixture
def all_operations(services: Services) -> list[Operation]:
    return operations(create_app(services).openapi())


async def ask_all(
    callers: dict[str, Caller], asked: list[tuple[str, Operation]]
) -> AsyncIterator[tuple[str, Operation, Answer]]:
    """Each call by each caller, some at a time: who asked, what, and the answer."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def ask(name: str, operation: Operation) -> tuple[str, Operation, Answer]:
        async with gate:
            body = {"json": operation.example} if operation.example is not None else {}
            return name, operation, await callers[name](operation.method, operation.at(), **body)

    for answered in await asyncio.gather(*(ask(name, operation) for name, operation in asked)):
        yield answered


def test_everything_but_the_contracts_exceptions_is_behind_the_door(services: Services) -> None:
    app = create_app(services)
    found = {route.path for route in app.routes if isinstance(route, Route | APIRoute | APIWebSocketRoute)}
    assert found >= PUBLIC_PATHS
    assert {path for path in found if is_public(path)} == PUBLIC_PATHS
    for path in ("/api", "/api/", "/api/new", "/metrics", "/metrics/", "/api/auth/token/x", "/api/docs/x"):
        assert not is_public(path), path


def test_every_route_says_what_it_needs(all_operations: list[Operation]) -> None:
    """Or needs only somebody who is signed in, and then it is about themselves or the server."""
    assert len(all_operations) > 20
    for operation in all_operations:
        if is_public(operation.path, operation.method):
            assert operation.needs is None, operation
        else:
            assert operation.is_secured, operation
            assert operation.needs in SCOPES or operation.path.startswith(("/api/auth/", "/api/about")), (
                operation
            )
        if operation.needs and operation.method not in ("GET", "HEAD"):
            reads = ("/api/preview", "/api/schedules/preview", "/api/results/export")
            assert operation.needs.endswith(":write") or operation.path in reads, operation


async def bad_tokens(services: Services, api: Caller) -> dict[str, str | None]:
    """All kinds of tokens that let nobody in."""
    users, clock = services.installation.users, services.installation.clock
    await add_user(services)
    ended, session = await sign_in(api), await sign_in(api)
    (await api.with_token(ended["access_token"]).post("/api/auth/logout")).expect(204)
    user = await users.get_user("bob")
    claims = jwt.decode(session["access_token"], options={"verify_signature": False})
    key = services.access.keys.derive("access tokens")
    revoked = await make_token(services, "revoked", "admin")
    await users.revoke_token(1, actor="test")
    services.access.authenticator.clear_cache()
    expired = new_secret("sst")
    await users.add_token(
        NewToken("old", hash_secret(expired), "token:old", "admin", expires_at=clock.now() - 1), actor="test"
    )
    past = SessionTokens(services.access.keys, ManualClock(clock.now() - 1000))
    future = SessionTokens(services.access.keys, ManualClock(clock.now() + 1000))
    strangers = SessionTokens(Keys(b"another installation"), clock)
    head, payload, signature = session["access_token"].split(".")

    def signed(change: dict[str, Any], key: bytes | str = key, algorithm: str | None = ALGORITHM) -> str:
        return jwt.encode({**claims, **change}, key, algorithm)

    return {
        "no token": None,
        "forged": "forged",
        "forged token": new_secret("sst"),
        "revoked": revoked,
        "expired": expired,
        "a password": PASSWORD,
        "a refresh": session["refresh_token"],
        "a ticket": (await api.post("/api/auth/ticket")).json["ticket"],
        "ended session": ended["access_token"],
        "expired session": past.create(user, claims["fam"]),
        "session of the future": future.create(user, claims["fam"]),
        "session elsewhere": strangers.create(user, claims["fam"]),
        "other session number": signed({"ses": claims["ses"] + 1}),
        "other family": signed({"fam": "x"}),
        "other user": signed({"sub": "99"}),
        "no user": signed({"sub": "x"}),
        "other audience": signed({"aud": "x"}),
        "other issuer": signed({"iss": "x"}),
        "no algorithm": signed({}, "", None),
        "other algorithm": signed({}, key + key, "HS512"),
        "no end": jwt.encode(
            {name: value for name, value in claims.items() if name != "exp"}, key, ALGORITHM
        ),
        "no signature": f"{head}.{payload}.",
        "other signature": f"{head}.{payload}.{signature[::-1]}",
        "dots": "..",
        "hash of a token": hash_secret("token-of-the-admin").hex(),
    }


async def test_bad_tokens_let_nobody_in_anywhere(
    services: Services, api: Caller, all_operations: list[Operation]
) -> None:
    callers = {name: api.with_token(token) for name, token in (await bad_tokens(services, api)).items()}
    asked = [(name, one) for one in all_operations if not is_public(one.path, one.method) for name in callers]
    before = await services.installation.audit.entries(limit=1)
    count = 0
    async for name, operation, answer in ask_all(callers, asked):
        assert answer.status == 401, (name, operation, answer)
        assert answer.headers["Content-Type"] == "application/problem+json"
        count += 1
    assert count == len(asked) > 500
    assert await services.installation.audit.entries(limit=1) == before, "nothing was changed"


async def test_wrong_roles_and_scopes_are_refused_everywhere(
    services: Services, api: Caller, all_operations: list[Operation]
) -> None:
    callers: dict[str, Caller] = {}
    for role in ROLES:
        callers[role] = api.with_token(await make_token(services, role, role))
    for scope in SCOPES:
        others = [one for one in SCOPES if one != scope]
        secret = await make_token(services, scope.replace(":", "-"), "admin", scopes=others)
        callers[f"not {scope}"] = api.with_token(secret)
    roles: dict[str, frozenset[str]] = {role: GRANTS[role] for role in ROLES}
    asked = [
        (name, one)
        for one in all_operations
        if one.needs is not None
        for name in callers
        if name == f"not {one.needs}" or (name in roles and one.needs not in roles[name])
    ]
    count = 0
    async for name, operation, answer in ask_all(callers, asked):
        assert answer.status == 403, (name, operation, answer)
        assert answer.json["code"] == "forbidden"
        count += 1
    assert count == len(asked) > 50


async def test_what_belongs_to_somebody_else_is_not_changed(
    services: Services, api: Caller, all_operations: list[Operation]
) -> None:
    """Every write that names a task, a run, a schedule, a notice or a token."""
    task_id = (await api.post("/api/tasks", TASK)).expect(201).json["id"]
    sent = {"task_id": task_id, "cron": "0 3 * * *", "enabled": True}
    notice = next(
        one.example for one in all_operations if (one.method, one.path) == ("POST", "/api/notifications")
    )
    ids = {
        "task_id": task_id,
        "run_id": (await api.post(f"/api/tasks/{task_id}/start")).expect(202).json["run_id"],
        "schedule_id": (await api.post("/api/schedules", sent)).expect(201).json["id"],
        "notification_id": (await api.post("/api/notifications", {**notice, "task_id": task_id}))
        .expect(201)
        .json["id"],
        "token_id": (await api.post("/api/tokens", {"name": "x", "role": "viewer"})).expect(201).json["id"],
    }
    other = api.with_token(await make_token(services, "other", "operator"))
    before = await services.installation.audit.entries(limit=1)
    tried = []
    for one in all_operations:
        names = set(re.findall(r"\{(\w+)", one.path))
        is_write = bool(one.needs) and str(one.needs).endswith(":write")
        if not is_write or not (names & ids.keys() or one.takes_task):
            continue
        body = {**one.example, "task_id": task_id} if one.takes_task else one.example
        if one.path == "/api/tasks/{task_id}" and isinstance(body, dict):
            body = {**body, "name": TASK["name"]}
        more = {"json": body} if body is not None else {}
        answer = await other(one.method, one.at(**ids), **more)
        assert answer.status == 403, (one, answer)
        tried.append(one)
    assert len(tried) >= 22
    assert await services.installation.audit.entries(limit=1) == before, "nothing was changed"


async def test_no_websocket_opens_for_who_is_unknown_or_may_not(services: Services, api: Caller) -> None:
    sockets = [route for route in create_app(services).routes if isinstance(route, APIWebSocketRoute)]
    nobody = [None, "forged", await make_token(services, "uploads", "uploader")]
    for route in sockets:
        path = re.sub(r"\{\w+[^}]*\}", "1", route.path)
        for token, status in zip(nobody, (401, 401, 403), strict=True):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await api.session.ws_connect(f"{api.base}{path}", headers=headers)
            assert refused.value.status == status, (route.path, token)
        ticket = (await api.with_token(nobody[2]).post("/api/auth/ticket")).expect(200).json["ticket"]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await api.session.ws_connect(f"{api.base}{path}?ticket={ticket}")
        assert refused.value.status == 403, route.path
