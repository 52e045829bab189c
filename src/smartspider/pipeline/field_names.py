"""Check the field names that steps use."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from smartspider.core.errors import Problem
from smartspider.pipeline.paths import parse_path
from smartspider.pipeline.step_builder import BuiltStep
from smartspider.pipeline.steps.fields import RenameStep, TemplateStep, UniqueStep


def field_name_problems(built: BuiltStep, known: Collection[str]) -> list[Problem]:
    """Return a problem for each field that the step names and that is unknown or would be overwritten."""
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


def unknown_field(path: str, name: str, known: Collection[str]) -> Problem:
    """Return the problem of an unknown field, with the nearest known one as hint."""
    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}" if known else ""
    return Problem(path, f"there is no field {name!r}", hint)


def _place(built: BuiltStep, name: str) -> str:
    return f"fields[{built.fields.index(name)}]" if built.fields and name in built.fields else f"to.{name}"


def _missing(named: dict[str, str], known: Collection[str]) -> list[Problem]:
    return [
        unknown_field(path, name, known) for name, path in named.items() if parse_path(name, known) is None
    ]
