"""Load functions from Python files beside a task. Only local commands do this."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from smartspider.core.errors import NotBuilt
from smartspider.core.functions import error_text, parse_function, printing_apart


def load_function(text: str) -> Callable[..., Any]:
    """Return the function that a reference with a digest names. Raise `NotBuilt`, naming file and line."""
    reference = parse_function(text)
    assert reference is not None  # noqa: S101 - callers look before
    path = Path(reference.file)
    module = _load(path, reference.digest)
    function = getattr(module, reference.name, None)
    if function is None:
        names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        near = get_close_matches(reference.name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(names) or 'no functions'}"
        raise NotBuilt(f"there is no function {reference.name!r} in {path.name}", hint=hint)
    if not callable(function):
        raise NotBuilt(f"{reference.name!r} in {path.name} is not a function")
    return function  # type: ignore[no-any-return]  # callable, checked above


@lru_cache(maxsize=64)
def _load(path: Path, digest: str) -> ModuleType:
    """Run a file as a module. Its folder joins the import path, so that it can import its neighbours."""
    source = read_source(path)
    if hashlib.sha256(source).hexdigest() != digest:
        hint = "use --fresh to start a new run with the new file"
        raise NotBuilt(f"{path.name} was edited since the run began", hint=hint)
    module = ModuleType(f"smartspider_functions_{digest[:16]}_{path.stem}")
    module.__file__ = str(path)
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        with printing_apart():
            exec(compile(source, str(path), "exec"), vars(module))  # noqa: S102 - the user's own file
    except BaseException as error:
        del sys.modules[module.__name__]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise NotBuilt(f"{path.name}, {describe_error(error, path)}", hint="correct the file") from error
    return module


def read_source(path: Path) -> bytes:
    """Return the bytes of a file; raise `NotBuilt` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "relative paths start in the folder of the task file"
        raise NotBuilt(f"{path} cannot be read: {error.strerror}", hint=hint) from error


def describe_error(error: BaseException, path: Path) -> str:
    """Return the line of a file that raised an error, and the error."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    place = f"line {lines[-1]}: " if lines else ""
    return f"{place}{error_text(error)}"
