"""Plug-ins by kind and name.

Built-ins stand in a table and are imported when first asked for. Installed packages add to it by entry points
in the group `smartspider.<kind>s`; these are scanned only for names the table does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from smartspider.core.errors import NotBuilt, NotFound

BUILT_IN: dict[str, dict[str, str]] = {
    "output": {
        "csv": "smartspider.sinks.csv:CsvSink",
        "jsonl": "smartspider.sinks.jsonl:JsonlSink",
    },
}
"""Kind, name, and where it is: `module:attribute`. A kind exists when it has a line here."""


def resolve(kind: str, name: str) -> Any:
    """The object a name stands for; `NotFound` when nobody has it, `NotBuilt` when it cannot be loaded."""
    place = BUILT_IN[kind].get(name)
    if place is not None:
        return _loaded(f"the {kind} {name!r}", lambda: _imported(place))
    found = sorted(_offered(kind, name), key=lambda point: point.value)
    if not found:
        raise NotFound(f"there is no {kind} called {name!r}", hint=_hint(kind, name))
    if len(found) > 1:
        raise NotBuilt(
            f"the {kind} {name!r} is offered by more than one package: {', '.join(map(_origin, found))}",
            hint="remove all but one of them",
        )
    return _loaded(f"the {kind} plug-in {name!r} of {_origin(found[0])}", found[0].load)


def known(kind: str) -> list[str]:
    """All names of a kind, built in or installed, sorted."""
    return sorted({*BUILT_IN[kind], *(point.name for point in entry_points(group=_group(kind)))})


def _group(kind: str) -> str:
    return f"smartspider.{kind}s"


def _offered(kind: str, name: str) -> list[EntryPoint]:
    # The same package can be seen twice, from two places of the path; that is still one offer.
    points = entry_points(group=_group(kind), name=name)
    return list({(point.value, _origin(point)): point for point in points}.values())


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _loaded(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # a plug-in's module may raise anything while it is imported
        raise NotBuilt(
            f"{what} cannot be loaded: {type(error).__name__}: {error}",
            hint="install what it needs, or update or remove the package",
        ) from error


def _hint(kind: str, name: str) -> str:
    names = known(kind)
    nearest = get_close_matches(name, names, n=2)
    meant = f"{' or '.join(map(repr, nearest))}; " if nearest else ""
    return f"{meant}known are {', '.join(names)}"
