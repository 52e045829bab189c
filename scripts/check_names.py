"""Check names and folders of the product and the test kit, and what tests replace: `check_names.py`.

- A public class name exists once.
- A folder holds at most 20 Python files.
- No docstring begins with a question word or an indefinite pronoun.
- No test patches a constant or a private name, or reads a private attribute: both are passed in instead.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (ROOT / "src", ROOT / "packages" / "smartspider-testing" / "src")
TESTS = (ROOT / "tests", ROOT / "packages", ROOT / "benchmarks")
MOST_FILES = 20
VAGUE = re.compile(r"(What|Who|Whether|How|Somebody|Whoever|Nobody|Those|They)\b")
CLOSED = re.compile(r"_\w*|[A-Z][A-Z0-9_]*")
"""Names that tests must not patch: private ones and constants."""
PATCHES = frozenset({"setattr", "delattr", "object", "patch"})
"""Functions of `pytest.MonkeyPatch` and `unittest.mock` that replace an attribute."""
ACCEPTED = re.compile(r"noqa:[^#]*\bSLF001\b")
"""A comment that lets ruff accept a private attribute."""
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print every finding; return 0 if there is none."""
    findings = [
        *duplicate_classes(SOURCES),
        *crowded_folders(SOURCES),
        *vague_docstrings(SOURCES),
        *patched_names(TESTS),
        *private_reads(TESTS),
    ]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def duplicate_classes(sources: tuple[Path, ...]) -> list[str]:
    """Return a line for every public class name that more than one module defines."""
    places = defaultdict(list)
    for path, tree in parse(sources):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{shown(path)}:{node.lineno}")
    return [
        f"class {name} exists {len(where)} times: {', '.join(where)}"
        for name, where in sorted(places.items())
        if len(where) > 1
    ]


def crowded_folders(sources: tuple[Path, ...]) -> list[str]:
    """Return a line for every folder with more than `MOST_FILES` Python files."""
    counts: dict[Path, int] = defaultdict(int)
    for path in python_files(sources):
        counts[path.parent] += 1
    return [
        f"{shown(folder)} has {count} Python files; group them, {MOST_FILES} at most"
        for folder, count in sorted(counts.items())
        if count > MOST_FILES
    ]


def vague_docstrings(sources: tuple[Path, ...]) -> list[str]:
    """Return a line for every docstring that does not begin with the thing it describes."""
    return [
        f"{shown(path)}:{line}: docstring begins with {found[1]!r}; say what the thing does or is"
        for path, tree in parse(sources)
        for line, text in docstrings(tree)
        if (found := VAGUE.match(text.lstrip()))
    ]


def patched_names(tests: tuple[Path, ...]) -> list[str]:
    """Return a line for every patch of a constant or a private name."""
    return [
        f"{shown(path)}:{call.lineno}: a test patches {name}; make it an argument or a field"
        for path, text in texts(tests)
        if "setattr" in text or "delattr" in text or "patch" in text  # parsing takes long
        for call in ast.walk(ast.parse(text, str(path)))
        if isinstance(call, ast.Call) and (name := patched_name(call)) and CLOSED.fullmatch(name)
    ]


def patched_name(call: ast.Call) -> str | None:
    """Return the name that a call replaces, if it is a patch with a name in quotes: the second argument, or
    the end of the first.
    """
    function = call.func
    used = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if used not in PATCHES:
        return None
    quoted = [
        argument.value
        for argument in call.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    return quoted[0].rpartition(".")[2] if quoted else None


def private_reads(tests: tuple[Path, ...]) -> list[str]:
    """Return a line for every private attribute that ruff is told to accept."""
    return [
        f"{shown(path)}:{number}: a test reads a private attribute; test what others can see"
        for path, text in texts(tests)
        for number, line in enumerate(text.splitlines(), 1)
        if ACCEPTED.search(line)
    ]


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of all docstrings, those of attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield statement.lineno, text


def parse(sources: tuple[Path, ...]) -> Iterator[tuple[Path, ast.Module]]:
    """Yield every Python file with its syntax tree."""
    for path, text in texts(sources):
        yield path, ast.parse(text, str(path))


def texts(sources: tuple[Path, ...]) -> Iterator[tuple[Path, str]]:
    """Yield every Python file with its text."""
    for path in python_files(sources):
        yield path, path.read_text(encoding="utf-8")


def python_files(sources: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the Python files below the sources, sorted."""
    for source in sources:
        yield from sorted(source.rglob("*.py"))


def shown(path: Path) -> str:
    """Return a path relative to the repository."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
