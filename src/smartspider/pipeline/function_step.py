"""Steps from functions: `def clean(value)`, `def clean(value, context, *, option=1)` or `def clean(item)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from smartspider.core.errors import NotBuilt
from smartspider.core.functions import short_name
from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.step import PageContext

ITEM = "item"
"""The name of the first parameter of a function that takes whole items."""
CONTEXT = "context"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class FunctionValueStep:
    """A function of one value. An error rejects the item, like an error of a plug-in."""

    kind: ColumnKind | None = "json"
    takes_null = False
    takes_lists = False
    is_check = False

    def __init__(self, call: Callable[[Any, PageContext], Any]) -> None:
        self._call = call

    def apply(self, value: Any, context: PageContext) -> Any:
        """Return what the function returns."""
        return self._call(value, context)


class FunctionItemStep:
    """A function of a whole item. `adds` names the fields that it adds."""

    def __init__(self, call: Callable[[Any, PageContext], Any], adds: tuple[str, ...]) -> None:
        self._call = call
        self._adds = adds

    def apply_item(self, item: Item, context: PageContext) -> Item:
        """Return the item that the function returns; the argument if it changed that and returned nothing."""
        new: Item | None = self._call(item, context)
        return item if new is None else new

    def columns(self, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
        """Return the columns with the added ones; values may have any type."""
        known = {column.name for column in columns}
        added = (TableColumn(name, "json") for name in self._adds if name not in known)
        return (*(TableColumn(column.name, "json") for column in columns), *added)


def step_factory(function: Callable[..., Any], use: str) -> Callable[..., Any]:
    """Return the factory of a step from a function or a class. A class is a plug-in and takes its options;
    the options of a function are its further parameters. Raise `NotBuilt`.
    """
    if isinstance(function, type):
        return function
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in _POSITIONAL:
        what = f"the function {short_name(use)} takes no value"
        raise NotBuilt(what, hint="write def clean(value): or def clean(item):")
    takes_context = len(parameters) > 1 and parameters[1].name == CONTEXT
    options = parameters[2:] if takes_context else parameters[1:]
    is_for_items = parameters[0].name == ITEM
    adds = inspect.Parameter("adds", inspect.Parameter.KEYWORD_ONLY, default=())

    def make(**given: Any) -> FunctionValueStep | FunctionItemStep:
        added = tuple(given.pop("adds", ())) if is_for_items else ()

        def call(value: Any, context: PageContext) -> Any:
            return function(value, context, **given) if takes_context else function(value, **given)

        return FunctionItemStep(call, added) if is_for_items else FunctionValueStep(call)

    keywords = [each.replace(kind=_keyword(each)) for each in options]
    variadic = [each for each in keywords if each.kind == inspect.Parameter.VAR_KEYWORD]
    named = [each for each in keywords if each.kind == inspect.Parameter.KEYWORD_ONLY]
    signature = inspect.Signature([*named, *([adds] if is_for_items else []), *variadic])
    make.__signature__ = signature  # type: ignore[attr-defined]  # `inspect.signature` reads it
    return make


def _keyword(parameter: inspect.Parameter) -> Any:
    is_variadic = parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return parameter.kind if is_variadic else inspect.Parameter.KEYWORD_ONLY


def unloaded_step(**options: Any) -> FunctionValueStep | FunctionItemStep:
    """Return a stand-in for a function whose file is not loaded: it only tells the columns."""
    adds = options.get("adds")
    if isinstance(adds, list):
        return FunctionItemStep(lambda item, _: item, tuple(adds))
    return FunctionValueStep(lambda value, _: value)
