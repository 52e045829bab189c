"""Operations: every call of the API, written once.

An operation is a method of a class derived from `Operations`, declared with `@operation`. Its body runs
against an installation. The same method serves three callers: the API builds its route from the
declaration, the command line calls it directly, and the client sends it to a server. Nothing here imports
a web or validation library.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from smartspider.core.access import Area, Principal, Verb
from smartspider.views.params import Param

if TYPE_CHECKING:
    from smartspider.installation.installation import Installation
    from smartspider.operations.services import Services

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Needs = tuple[Area, Verb] | Literal["open", "signed_in"]
"""The right a caller needs: an area and a verb, any valid token, or nothing."""
REQUIRED = inspect.Parameter.empty
UNPACKED = object()
"""Marks a keyword of a `TypedDict`, whose default its `Param` names."""


class Operations:
    """Base of all operations of a noun; a subclass says how they are performed.

    `services` and `principal` exist where operations run against an installation.
    """

    services: Services
    principal: Principal

    @property
    def installation(self) -> Installation:
        """The installation that operations run against."""
        return self.services.installation

    async def perform(self, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation with these arguments, by name."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation."""

    name: str
    annotation: Any
    """Its Python type."""
    param: Param
    default: Any = REQUIRED

    @property
    def wire_name(self) -> str:
        """Its name in the request."""
        return self.param.alias or self.name


@dataclass(frozen=True, slots=True)
class Body:
    """The JSON body of an operation, made of its `body` parameters."""

    name: str
    """The name of its schema."""
    about: str = ""
    examples: tuple[Any, ...] = ()
    named_examples: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    """`module:name` of a pydantic model that stands for the parameters."""
    is_strict: bool = False
    is_secret: bool = False
    """True keeps values out of validation errors."""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer to a repeated call with the same Idempotency-Key."""

    is_secret: bool = False
    """The first answer holds a secret and is not kept: a repeated call is a `Conflict`."""
    rebuild: Callable[[Any, str], Awaitable[Any]] | None = None
    """Returns the answer from what the first call created (`run:7`) if that answer was lost."""


@dataclass(frozen=True)
class Operation:
    """A call of the API."""

    name: str
    method: Method
    path: str
    needs: Needs
    summary: str
    answer: str
    """The content of a successful answer, in a few words."""
    function: Callable[..., Any]
    tags: tuple[str, ...]
    status: int = 200
    example: Any = None
    body: Body | None = None
    replay: Replay | None = None
    location: str = ""
    """The `Location` header, with fields of the answer in braces."""
    etag: str = ""
    """The field of the answer that the `ETag` header holds."""
    also: Mapping[int, tuple[Any, str, Any]] = field(default_factory=dict)
    """Other successful statuses: the type of the answer, what it holds, an example."""
    status_of: Callable[[Any], int] | None = None
    """The status of an answer, where that varies."""
    is_file: bool = False
    """True if the answer is a file that is streamed."""
    is_heavy: bool = False
    """True if it may read many rows: each user has a share of the slots for such calls."""
    is_routed: bool = True
    """False: the API has a route written by hand, for a stream or an unusual body."""

    @property
    def description(self) -> str:
        """The docstring of the function."""
        return inspect.getdoc(self.function) or ""

    @property
    def path_names(self) -> frozenset[str]:
        """The names of the parameters in the path."""
        return frozenset(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name, those of `**keywords: Unpack[...]` included."""
        hints = get_type_hints(self.function, include_extras=True)
        found: dict[str, Parameter] = {}
        for one in list(inspect.signature(self.function).parameters.values())[1:]:
            if one.kind is inspect.Parameter.VAR_KEYWORD:
                (words,) = get_args(hints[one.name])
                for name, hint in get_type_hints(words, include_extras=True).items():
                    found[name] = _parameter(name, hint)
            else:
                found[one.name] = _parameter(one.name, hints[one.name], one.default)
        return found

    @cached_property
    def answer_type(self) -> Any:
        """The type of the answer; `NoneType` if there is none."""
        return get_type_hints(self.function)["return"]

    def bind(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name; those left out are not included."""
        bound = self._signature.bind(None, *args, **keywords)
        arguments = dict(list(bound.arguments.items())[1:])
        if self._keywords is not None:
            arguments |= arguments.pop(self._keywords, {})
        return arguments

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def _keywords(self) -> str | None:
        kinds = {one.kind: name for name, one in self._signature.parameters.items()}
        return kinds.get(inspect.Parameter.VAR_KEYWORD)


def _parameter(name: str, hint: Any, default: Any = UNPACKED) -> Parameter:
    if get_origin(hint) is not Annotated:
        return Parameter(name, hint, Param(place="body"), None if default is UNPACKED else default)
    plain, *notes = get_args(hint)
    params = [note for note in notes if isinstance(note, Param)]
    param = params[-1] if params else Param()
    return Parameter(name, plain, param, param.default if default is UNPACKED else default)


def operation(
    method: Method,
    path: str,
    *,
    needs: Needs,
    summary: str,
    answer: str,
    tags: tuple[str, ...] = (),
    name: str = "",
    **more: Any,
) -> Callable[[F], F]:
    """Declare a method as an operation, by default under its own name; `more` are fields of `Operation`."""

    def declare(function: F) -> F:
        declared = Operation(
            name=name or function.__name__,
            method=method,
            path=path,
            needs=needs,
            summary=summary,
            answer=answer,
            function=function,
            tags=tags or (path.split("/")[2],),
            **more,
        )

        @wraps(function)
        async def call(self: Operations, *args: Any, **keywords: Any) -> Any:
            return await self.perform(declared, declared.bind(args, keywords))

        call.operation = declared  # type: ignore[attr-defined]  # read by `operations_of`
        return cast("F", call)

    return declare


def operations_of(kind: type[Operations]) -> list[Operation]:
    """Return the operations that a class declares or inherits, in the order of their declaration."""
    found: dict[str, Operation] = {}
    for base in reversed(kind.__mro__):
        for value in vars(base).values():
            declared = getattr(value, "operation", None)
            if isinstance(declared, Operation):
                found[declared.name] = declared
    return list(found.values())
