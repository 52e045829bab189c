"""The client has what the API has: every operation once, with its parameters and its answer."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import types
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from tests.unit.api.asking import SETTINGS, open_services

from smartspider.api.app import create_app
from smartspider.api.responses import REF, schema_name
from smartspider.client.remote import RemoteOperations
from smartspider.operations.table import AllOperations
from smartspider.views.runs import LiveEvent

NAMES = {
    "with": "with_",
    "If-Match": "if_match",
    "from": "start",
    "to": "end",
    "Idempotency-Key": "idempotency_key",
    "for": "opens",
}
"""What is called otherwise in Python."""
OF_BROWSERS = {"start_browser_session", "renew_browser_session", "end_browser_session", "save_results"}
"""Operations for pages, which have cookies and no headers in downloads; programs have `create_session`,
`end_session` and `export_results`.
"""
SAME = {"last-event-id"}
"""Headers that say what a parameter says."""


class Described(msgspec.Struct, frozen=True):
    """An operation, as the server has it."""

    id: str
    properties: dict[str, Any]
    """Parameters and keys of the body, with their schemas."""
    required: set[str]
    answers: set[str]


def resolved(document: Any, schema: Any) -> Any:
    """A schema itself: what it refers to, and not that it may be null."""
    if "$ref" in schema:
        return resolved(document, document["components"]["schemas"][schema["$ref"].removeprefix(REF)])
    some = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return resolved(document, some[0]) if len(some) == 1 else schema


def described(document: Any, operation: Any) -> Described:
    parameters = [one for one in operation.get("parameters", ()) if one["name"] not in SAME]
    properties = {NAMES.get(one["name"], one["name"]): one["schema"] for one in parameters}
    required = {NAMES.get(one["name"], one["name"]) for one in parameters if one.get("required")}
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        if schema == {"$ref": f"{REF}Task"}:
            schema = {"properties": {"task": {}}, "required": ["task"]}
        schema = resolved(document, schema)
        for part in schema.get("oneOf", [schema]):
            properties |= {NAMES.get(name, name): one for name, one in part["properties"].items()}
        required |= set(schema.get("required", ())) if body.get("required") else set()
    answers = {
        text
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for text in answered(answer.get("content", {}))
    }
    return Described(operation["operationId"], properties, required, answers)


def answered(content: Any) -> Iterator[str]:
    """What an answer is, in the words of `returned`."""
    if not content:
        yield "nothing"
    elif "text/event-stream" in content:
        yield "stream of LiveEvent"
    elif len(content) > 1:
        yield "stream of bytes"
    else:
        ((_, shape),) = content.items()
        schema = shape["schema"]
        if schema.get("type") == "array":
            yield f"list of {schema['items']['$ref'].removeprefix(REF)}"
        else:
            yield schema["$ref"].removeprefix(REF) if "$ref" in schema else schema["type"]


def returned(hint: Any) -> set[str]:
    """What a method returns."""
    if get_origin(hint) in (Union, types.UnionType):
        return set().union(*map(returned, get_args(hint)))
    if get_origin(hint) is AsyncGenerator:
        return {f"stream of {get_args(hint)[0].__name__}"}
    if get_origin(hint) is list:
        return {f"list of {get_args(hint)[0].__name__}"}
    plain = {type(None): "nothing", str: "string", dict: "object"}
    kind = plain.get(get_origin(hint) or hint)
    return {kind or schema_name(hint)}


def methods() -> dict[str, Any]:
    found = inspect.getmembers(RemoteOperations, inspect.isfunction)
    return {name: method for name, method in found if not (name.startswith("_") or name == "perform")}


def keywords(method: Any) -> dict[str, tuple[Any, bool]]:
    """The parameters of a method, those behind `**` as well: their type, and whether they must be given."""
    hints = get_type_hints(method)
    found: dict[str, tuple[Any, bool]] = {}
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            assert get_origin(hints[name]) is Unpack
            (words,) = get_args(hints[name])
            found |= {
                word: (hint, word in words.__required_keys__) for word, hint in get_type_hints(words).items()
            }
        else:
            found[name] = (hints[name], parameter.default is inspect.Parameter.empty)
    return found


def words_of(hint: Any) -> Any:
    """The TypedDict in a type, if there is one."""
    return next((one for one in (hint, *get_args(hint)) if is_typeddict(one)), None)


def asked_by(dependant: Dependant) -> Iterator[str]:
    """The parameters of a path and a query."""
    yield from (one.alias for one in (*dependant.path_params, *dependant.query_params))
    for below in dependant.dependencies:
        yield from asked_by(below)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    async def made() -> FastAPI:
        async with open_services(tmp_path_factory.mktemp("services") / "data", SETTINGS) as services:
            return create_app(services)

    return asyncio.run(made())


@pytest.fixture(scope="module")
def operations(app: FastAPI) -> dict[str, Described]:
    document = app.openapi()
    found = [described(document, one) for each in document["paths"].values() for one in each.values()]
    assert len({one.id for one in found}) == len(found)
    operations = {one.id: one for one in found if one.id not in OF_BROWSERS}
    for route in app.routes:
        if isinstance(route, APIRoute) and route.name in operations:  # some say a parameter only in words
            for name in asked_by(route.dependant):
                operations[route.name].properties.setdefault(NAMES.get(name, name), {})
    return operations


@pytest.fixture(scope="module")
def sockets(app: FastAPI) -> dict[str, APIWebSocketRoute]:
    """WebSockets, but those that say what is said at the same address without one, and the one that is
    asked by messages.
    """
    paths = app.openapi()["paths"]
    found = [route for route in app.routes if isinstance(route, APIWebSocketRoute)]
    return {route.name: route for route in found if route.path not in {*paths, "/api/live"}}


def test_every_operation_is_a_method_and_every_method_an_operation(
    operations: dict[str, Described], sockets: dict[str, APIWebSocketRoute]
) -> None:
    assert sorted(methods()) == sorted({*operations, *sockets})


def test_methods_take_what_operations_take(operations: dict[str, Described]) -> None:
    for name, operation in operations.items():
        taken = keywords(methods()[name])
        assert sorted(taken) == sorted(operation.properties), name
        assert {word for word, (_, is_required) in taken.items() if is_required} == operation.required, name


def test_words_within_words_are_those_of_the_operation(
    app: FastAPI, operations: dict[str, Described]
) -> None:
    checked = 0
    for name, operation in operations.items():
        parts = [
            (words_of(hint), operation.properties[word])
            for word, (hint, _) in keywords(methods()[name]).items()
        ]
        while parts:
            words, schema = parts.pop()
            if words is not None:
                properties = resolved(app.openapi(), schema)["properties"]
                hints = get_type_hints(words)
                assert sorted(hints) == sorted(properties), (name, words)
                parts += [(words_of(hint), properties[word]) for word, hint in hints.items()]
                checked += 1
    assert checked >= 3


def test_methods_return_what_operations_answer(operations: dict[str, Described]) -> None:
    for name, operation in operations.items():
        assert returned(get_type_hints(methods()[name])["return"]) == operation.answers, name


def test_streams_over_websockets_take_what_their_routes_take(sockets: dict[str, APIWebSocketRoute]) -> None:
    for name, route in sockets.items():
        assert sorted(keywords(methods()[name])) == sorted(asked_by(route.dependant)), name
        assert get_origin(get_type_hints(methods()[name])["return"]) is AsyncGenerator


def test_the_client_needs_neither_a_server_nor_a_store() -> None:
    code = "import smartspider.client, sys; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"fastapi", "pydantic", "apsw", "lxml", "yaml", "uvicorn", "structlog", "argon2"}
    assert not heavy & set(said.stdout.split())


def test_a_message_of_a_stream_is_read_as_what_the_server_tells() -> None:
    told = {"id": 1, "run_id": "1", "at": "x", "event": "run.state", "data": {"to": "paused"}, "new": 1}
    assert msgspec.json.decode(msgspec.json.encode(told), type=LiveEvent).id == 1


def test_no_file_of_operations_is_forgotten() -> None:
    folder = Path(inspect.getfile(AllOperations)).parent
    within = {Path(inspect.getfile(kind)).name for kind in AllOperations.__mro__[:-1]}
    assert {path.name for path in folder.rglob("*.py")} == {*within, "__init__.py", "local.py", "services.py"}
