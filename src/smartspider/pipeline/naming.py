"""Fields that steps name: they must be there when the step comes."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from smartspider.core.errors import Problem
from smartspider.pipeline.building import Built
from smartspider.pipeline.paths import path_of
from smartspider.pipeline.steps.fields import RenameStep, TemplateStep, UniqueStep


def names_problems(built: Built, known: Collection[str]) -> list[Problem]:
    """A problem for each field the step names and that is not there, or that it would hide."""
    match built.step:
        case TemplateStep() if not built.fields:
            hint = "the field to write, new or old"
            return [Problem(f"{built.path}.fields", "the key 'fields' is missing", hint)]
        case TemplateStep(names=names):
            return _missing(dict.fromkeys(names, f"{built.path}.text"), known)
        case RenameStep(mapping=mapping):
            return _missing({name: f"{built.path}.{_place(built, name)}" for name in mapping}, known) or [
                Problem(
                    f"{built.path}.to", f"there already is a field {new!r}", "drop or rename that one first"
                )
                for new in mapping.values()
                if new in known and new not in mapping
            ]
        case UniqueStep() if any("." in name and name not in known for name in built.fields or ()):
            return [Problem(f"{built.path}.fields", "whole fields are compared", "names without a dot")]
        case _:
            named = built.fields or []
            return _missing({name: f"{built.path}.fields[{at}]" for at, name in enumerate(named)}, known)


def field_problem(path: str, name: str, known: Collection[str]) -> Problem:
    """The problem of a field that is not there, with the nearest one that is."""
    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}" if known else ""
    return Problem(path, f"there is no field {name!r}", hint)


def _place(built: Built, name: str) -> str:
    return f"fields[{built.fields.index(name)}]" if built.fields and name in built.fields else f"to.{name}"


def _missing(named: dict[str, str], known: Collection[str]) -> list[Problem]:
    return [field_problem(path, name, known) for name, path in named.items() if path_of(name, known) is None]
