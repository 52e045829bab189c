"""Builds the routes of the API from the table of operations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi import Body as FastApiBody
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from starlette.responses import Response

from smartspider.api.idempotency import KeyedCall, keyed_call
from smartspider.api.limits import ApiLimits
from smartspider.api.responses import ETAG, LOCATION, document_response, empty_response, json_response
from smartspider.api.routes.file_response import FileResponse, document_file
from smartspider.api.routes.task_document import TASK_BODY, SentTask
from smartspider.api.security import SignedIn, caller_address, current_limits, current_services, needs
from smartspider.core.access import Principal
from smartspider.operations.local import LocalOperations
from smartspider.operations.operation import REQUIRED, Body, Operation, Parameter
from smartspider.operations.services import Services
from smartspider.operations.tasks import TaskText

KEYED = "idempotency_key"
_PRINCIPAL, _SERVICES, _REQUEST, _CALL, _BODY = "principal_", "services_", "request_", "call_", "body_"
_QUERY = "_in_query"
_ANONYMOUS = Principal("", "viewer")


def add_routes(router: APIRouter, operations: tuple[Operation, ...]) -> None:
    """Add a route for each operation that has no route written by hand."""
    for operation in operations:
        if operation.is_routed:
            add_route(router, operation)


def add_route(router: APIRouter, operation: Operation) -> None:
    """Add the route of an operation."""
    router.add_api_route(
        operation.path,
        _endpoint(operation),
        methods=[operation.method],
        name=operation.name,
        summary=operation.summary,
        description=operation.description,
        tags=list(operation.tags),
        status_code=operation.status,
        response_class=Response,
        responses=_responses(operation),
        openapi_extra=TASK_BODY if _takes_task(operation) else None,
    )


def _endpoint(operation: Operation) -> Any:
    names = [name for name in operation.parameters if name != KEYED]
    in_body = _body_names(operation)
    also_query = [name for name in in_body if operation.parameters[name].param.is_also_query]

    async def endpoint(**values: Any) -> Response:
        services, request = values[_SERVICES], values[_REQUEST]
        principal = values.get(_PRINCIPAL, _ANONYMOUS)
        arguments = {name: values[name] for name in names if name in values}
        if in_body and (sent := values.get(_BODY)) is not None:
            arguments |= _sent(operation, sent)
        for name in also_query:
            if arguments.get(name) is None:
                arguments[name] = values[f"{name}{_QUERY}"]
        local = LocalOperations(services, principal, caller_address=caller_address(request))
        work = partial(_perform, operation, local, arguments, current_limits(request))
        call: KeyedCall | None = values.get(_CALL)
        return await work() if call is None else await call.answer(work, _rebuilding(operation, local))

    endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # read by FastAPI
        _signature(operation), return_annotation=Response
    )
    endpoint.__name__ = operation.name
    return endpoint


async def _perform(
    operation: Operation, local: LocalOperations, arguments: Mapping[str, Any], limits: ApiLimits
) -> Response:
    result = await local.perform(operation, arguments)
    return FileResponse(result, limits) if operation.is_file else _response(operation, result)


def _response(operation: Operation, view: Any) -> Response:
    if view is None:
        return empty_response()
    status = _status(operation, view)
    headers = {}
    if status == operation.status:
        if operation.location:
            headers["Location"] = operation.location.format_map(_Fields(view))
        if operation.etag:
            headers["ETag"] = f'"{getattr(view, operation.etag)}"'
    return json_response(view, status, headers)


def _status(operation: Operation, view: Any) -> int:
    if operation.status_of is not None:
        return operation.status_of(view)
    for status, (kind, _, _) in operation.also.items():
        if isinstance(view, kind):
            return status
    return operation.status


class _Fields(dict[str, Any]):
    """The fields of a view, for `str.format_map`."""

    def __init__(self, view: Any) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, name: str) -> Any:
        return getattr(self._view, name)


def _rebuilding(operation: Operation, local: LocalOperations) -> Any:
    """Return a function that answers a repeated call whose first response was lost; None if there is none."""
    replay = operation.replay
    if replay is None or replay.rebuild is None:
        return None
    rebuild = replay.rebuild

    async def rebuilt(subject: str) -> Response:
        return _response(operation, await rebuild(local, subject))

    return rebuilt


def _signature(operation: Operation) -> list[inspect.Parameter]:
    found = [
        _keyword(_REQUEST, Request),
        _keyword(_SERVICES, Annotated[Services, Depends(current_services)]),
    ]
    if operation.needs == "signed_in":
        found.append(_keyword(_PRINCIPAL, SignedIn))
    elif operation.needs != "open":
        found.append(_keyword(_PRINCIPAL, Annotated[Principal, needs(*operation.needs)]))
    in_body = _body_names(operation)
    for name, one in operation.parameters.items():
        if name not in in_body and name != KEYED:
            found.append(_wire_parameter(operation, one))
        elif one.param.is_also_query:
            note = Query(alias=name, description=one.param.about)
            found.append(_keyword(f"{name}{_QUERY}", Annotated[one.annotation, note], None))
    if operation.body is not None:
        found.append(_body_parameter(operation, operation.body))
    if operation.replay is not None:
        is_secret = operation.replay.is_secret
        found.append(_keyword(_CALL, Annotated[KeyedCall | None, Depends(keyed_call(is_secret=is_secret))]))
    return found


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _body_names(operation: Operation) -> frozenset[str]:
    if operation.body is None:
        return frozenset()
    path = operation.path_names
    return frozenset(
        name for name, one in operation.parameters.items() if one.param.place == "body" and name not in path
    )


def _takes_task(operation: Operation) -> bool:
    return any(one.annotation == TaskText for one in operation.parameters.values())


def _wire_parameter(operation: Operation, one: Parameter) -> inspect.Parameter:
    if one.annotation == TaskText:
        return _keyword(one.name, SentTask)
    param = one.param
    described: dict[str, Any] = {
        **param.rules,
        "description": param.about or None,
    }
    if param.alias:
        described["alias"] = param.alias
    if param.examples:
        described["examples"] = list(param.examples)
    annotation = _wire_type(one)
    if one.name in operation.path_names:
        return _keyword(one.name, Annotated[annotation, Path(**described)])
    if param.place == "header":
        return _keyword(one.name, Annotated[annotation, Header(**described)], one.default)
    if one.default == () and param.wire is not None and NoneType not in get_args(param.wire):
        return _keyword(one.name, Annotated[annotation, Query(default_factory=list, **described)])
    default = None if one.default == () else one.default
    return _keyword(one.name, Annotated[annotation, Query(**described)], default)


def _wire_type(one: Parameter) -> Any:
    param = one.param
    annotation = one.annotation if param.wire is None else param.wire
    if param.wire_from:
        annotation = _imported(param.wire_from)
        return annotation | None if one.default is None else annotation
    if param.items:
        extra = param.items.get("json_schema_extra")
        rules = {name: value for name, value in param.items.items() if name != "json_schema_extra"}
        element: Any = Annotated[str, StringConstraints(**rules)]
        if extra is not None:
            element = Annotated[str, Field(**rules, json_schema_extra=extra)]
        annotation = list[element]
    return annotation


def _body_parameter(operation: Operation, body: Body) -> inspect.Parameter:
    model = _imported(body.model) if body.model else _body_model(operation, body)
    if not body.is_optional:
        return _keyword(_BODY, model)
    note = FastApiBody(openapi_examples=dict(body.named_examples)) if body.named_examples else FastApiBody()
    return _keyword(_BODY, Annotated[model | None, note], None)


def _body_model(operation: Operation, body: Body) -> type[BaseModel]:
    """Return the pydantic model of a body, built from the parameters sent in it."""
    fields: dict[str, Any] = {}
    for name in operation.parameters:
        if name in _body_names(operation):
            fields[name] = _model_field(operation.parameters[name])
    config = ConfigDict(extra="forbid", strict=body.is_strict, hide_input_in_errors=body.is_secret)
    if body.examples:
        config["json_schema_extra"] = {"examples": list(body.examples)}
    return create_model(body.name, __config__=config, __doc__=body.about, **fields)


def _model_field(one: Parameter) -> Any:
    rules = dict(one.param.rules)
    annotation = _wire_type(one)
    default: Any = ... if one.default is REQUIRED else ([] if one.default == () else one.default)
    about: dict[str, Any] = {"description": one.param.about} if one.param.about else {}
    if one.param.alias:
        about["alias"] = one.param.alias
    members = get_args(annotation)
    if rules and NoneType in members:  # constraints belong to the value, not to null
        plain = [member for member in members if member is not NoneType]
        inner = plain[0] if len(plain) == 1 else None
        if inner is not None:
            return (Annotated[inner, Field(**rules)] | None, Field(default, **about))
    return (annotation, Field(default, **rules, **about))


def _sent(operation: Operation, body: BaseModel) -> dict[str, Any]:
    """Return the arguments in a body."""
    if operation.body is not None and operation.body.model:
        return body.model_dump(exclude_unset=True)
    found = {name: getattr(body, name) for name in type(body).model_fields}
    return {
        name: value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
        for name, value in found.items()
    }


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _responses(operation: Operation) -> dict[int | str, dict[str, Any]]:
    if operation.is_file:
        return {operation.status: document_file(operation.answer)}
    if operation.answer_type is NoneType:
        return {operation.status: {"description": operation.answer}}
    headers = {**(LOCATION if operation.location else {}), **(ETAG if operation.etag else {})}
    shown = {"headers": headers} if headers else {}
    found: dict[int | str, dict[str, Any]] = {
        operation.status: document_response(
            _own_view(operation), operation.answer, example=operation.example, **shown
        )
    }
    for status, (view, about, example) in operation.also.items():
        found[status] = document_response(view, about, example=example)
    return found


def _own_view(operation: Operation) -> Any:
    """Return the type of the usual response."""
    kind = operation.answer_type
    also = [view for view, _, _ in operation.also.values()]
    members = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return next((one for one in members if one not in also), kind)
