"""Functions of Python files beside a task: found, identified by the digest of their file, and bound."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smartspider.core.errors import Problem
from smartspider.core.functions import FunctionReference, parse_function
from smartspider.taskfile.model.task import FUNCTIONS, Task
from smartspider.taskfile.problems import task_invalid

_PARTS = ("selectors", "pages", "pipeline")
"""The keys of a task below which functions are named."""
_LISTS = frozenset({"steps", "pipeline"})
_NOT_HERE = "functions of Python files run only in local commands (crawl, dry-run, validate, extract, shell)"
_HINT = "install it as a plug-in package on the server: see 'A step of your own' in docs/steps.md"


def identify_functions(document: object, folder: Path) -> object:
    """Return a task document with the digests of the files whose functions it names, which are part of its
    identity. Relative paths start in `folder`. Raise `TaskInvalid`.
    """
    if not isinstance(document, dict):
        return document
    if FUNCTIONS in document:
        raise task_invalid([Problem(FUNCTIONS, "this key is set by the program", "remove it")])
    digests: dict[str, str] = {}
    problems = []
    for path, reference in find_functions(document):
        if reference.file in digests:
            continue
        try:
            digests[reference.file] = hashlib.sha256((folder / reference.file).read_bytes()).hexdigest()
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            hint = "relative paths start in the folder of the task file"
            reason = getattr(error, "strerror", None) or error
            problems.append(Problem(path, f"{reference.file!r} cannot be read: {reason}", hint))
    if problems:
        raise task_invalid(problems)
    if not digests:
        return document
    return {**document, FUNCTIONS: {"folder": str(folder.resolve()), "files": digests}}


def refuse_functions(document: dict[str, Any]) -> None:
    """Raise `TaskInvalid` if a task names functions of files, or claims to have identified them."""
    problems = [Problem(path, _NOT_HERE, _HINT) for path, _ in find_functions(document)]
    if FUNCTIONS in document:
        problems.append(Problem(FUNCTIONS, "this key is set by the program", "remove it"))
    if problems:
        raise task_invalid(problems)


def find_functions(document: dict[str, Any]) -> Iterator[tuple[str, FunctionReference]]:
    """Yield the paths and functions of all steps and rules of a task document, in any form."""
    for part in _PARTS:
        if part in document:
            yield from _find(document[part], part, part)


def _find(value: Any, path: str, key: str) -> Iterator[tuple[str, FunctionReference]]:
    match value:
        case str():
            reference = parse_function(value) if key in ("use", "type") else None
            if reference is not None:
                yield path, reference
        case dict():
            for name, inner in value.items():
                yield from _find(inner, f"{path}.{name}", name)
        case list():
            for index, inner in enumerate(value):
                is_step = key in _LISTS and isinstance(inner, str)
                yield from _find(inner, f"{path}[{index}]", "use" if is_step else "")


def bind_functions(task: Task) -> Task:
    """Return a task whose functions are named by the absolute path and the digest of their file."""
    functions = task.functions
    if functions is None:
        return task
    folder, digests = Path(functions.folder), functions.files

    def bound(value: Any, key: str) -> Any:
        match value:
            case str():
                found = parse_function(value) if key in ("use", "type") else None
                if found is None or found.file not in digests:
                    return value
                return str(FunctionReference(str(folder / found.file), found.name, digests[found.file]))
            case dict():
                return {name: bound(inner, name) for name, inner in value.items()}
            case list():
                is_steps = key in _LISTS
                return [bound(each, "use" if is_steps and isinstance(each, str) else "") for each in value]
            case _:
                return value

    written = task.model_dump(by_alias=True, exclude_defaults=True, include=set(_PARTS))
    parts = {name: bound(part, name) for name, part in written.items()}
    whole = Task.model_validate({"name": task.name, "entry_urls": ["http://localhost/"], **parts})
    return task.model_copy(update={name: getattr(whole, name) for name in _PARTS})
