"""Find the implementation of a name, built in or installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

from smartspider.core.errors import NotBuilt, NotFound
from smartspider.core.extras import require_extra
from smartspider.plugins.kinds import PluginKind

T = TypeVar("T")


def resolve(kind: PluginKind[T], name: str) -> T:
    """Return the implementation of a name.

    Entry points are scanned only for names that are not built in. Raise `NotFound` for an unknown name and
    `NotBuilt` for an implementation that cannot be loaded or has the wrong signature.
    """
    target = kind.built_in.get(name)
    if target is not None:
        what = f"the {kind.name} {name!r}"
        if name in kind.needs:
            package, extra = kind.needs[name]
            require_extra(what, extra, package)
        implementation: T = _load(what, lambda: _import(target))
        return implementation
    points = sorted(_entry_points(kind, name), key=lambda point: point.value)
    if not points:
        raise NotFound(f"there is no {kind.name} {name!r}", hint=_hint(kind, name))
    if len(points) > 1:
        raise NotBuilt(
            f"more than one package provides the {kind.name} {name!r}: {', '.join(map(_origin, points))}",
            hint="uninstall all but one of them",
        )
    what = f"the {kind.name} plug-in {name!r} of {_origin(points[0])}"
    plugin: T = _load(what, points[0].load)
    _check_signature(what, kind, plugin)
    return plugin


def known(kind: PluginKind[Any]) -> list[str]:
    """Return all names of a kind, built in or installed, sorted."""
    installed = () if kind.group is None else entry_points(group=kind.group)
    return sorted({*kind.built_in, *(point.name for point in installed)})


def available(kind: PluginKind[Any]) -> list[str]:
    """Return the names of a kind whose optional packages are installed, sorted. Nothing is loaded."""
    return [name for name in known(kind) if name not in kind.needs or find_spec(kind.needs[name][0])]


def is_known(kind: PluginKind[Any], name: str) -> bool:
    """Return whether a name is built in or installed. Nothing is loaded."""
    return name in kind.built_in or bool(_entry_points(kind, name))


class InstalledPlugin(NamedTuple):
    """A plug-in of an installed package. `problem` says why it cannot be used; empty if it can."""

    kind: str
    name: str
    origin: str
    problem: str


def installed(kind: PluginKind[Any]) -> list[InstalledPlugin]:
    """Return the plug-ins of installed packages, by name. Each is loaded."""
    points = () if kind.group is None else entry_points(group=kind.group)
    found = []
    for name, origin in sorted({(point.name, _origin(point)) for point in points}):
        problem = "the name is that of a built-in one, which is used" if name in kind.built_in else ""
        try:
            resolve(kind, name)
        except NotBuilt as error:
            problem = error.line
        found.append(InstalledPlugin(kind.name, name, origin, problem))
    return found


def built_in(kind: PluginKind[Any]) -> list[Any]:
    """Return all built-in implementations of a kind, also those whose optional package is missing."""
    return [_import(target) for target in kind.built_in.values()]


def _entry_points(kind: PluginKind[Any], name: str) -> list[EntryPoint]:
    if kind.group is None:
        return []
    # A package that is on the path twice counts once.
    points = entry_points(group=kind.group, name=name)
    return list({(point.value, _origin(point)): point for point in points}.values())


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _import(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _load(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # a plug-in's module may raise anything while it is imported
        raise NotBuilt(
            f"{what} cannot be loaded: {type(error).__name__}: {error}",
            hint="install its dependencies, or update or remove the package",
        ) from error


def _check_signature(what: str, kind: PluginKind[Any], plugin: Any) -> None:
    """Raise `NotBuilt` if a plug-in cannot be called with the positional arguments of its kind."""
    if kind.parameters is None:
        return
    expected = f"({', '.join(kind.parameters)})"
    try:
        inspect.signature(plugin).bind(*kind.parameters)
    except ValueError:  # a callable written in C has no signature
        return
    except TypeError as error:
        raise NotBuilt(
            f"{what} cannot be called with {expected}: {error}", hint="update or remove the package"
        ) from error


def _hint(kind: PluginKind[Any], name: str) -> str:
    names = known(kind)
    near = " or ".join(map(repr, get_close_matches(name, names, n=2)))
    known_names = f"known: {', '.join(names)}"
    return f"did you mean {near}? {known_names}" if near else known_names
