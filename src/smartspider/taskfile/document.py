"""Parsing of JSON and YAML to plain JSON values, without duplicate keys."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import yaml

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.taskfile.problems import format_path, format_value, task_invalid

_MAX_DEPTH = 100
_MAX_VALUES = 1_000_000
_MAX_EXPANDED = 100_000
"""Values of a YAML document with aliases."""
_TOO_LARGE = "the document is nested too deeply or too large"
_TEXTS_PER_VALUE = 8
"""Texts in a list that count as one value."""


class _DuplicateKeys(dict[str, Any]):
    """An object with duplicate keys."""

    duplicates: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, but duplicate keys are errors."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Compose a mapping whose keys are unique; `<<` may be repeated."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if (key.tag, key.value) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"duplicate key {key.value!r}", problem_mark=key.start_mark
                    )
                seen.add((key.tag, key.value))
        return node


def read_document(text: str, name: str) -> object:
    """Parse a document to plain JSON values; the suffix of `name` selects JSON or YAML."""
    suffix = PurePath(name).suffix.lower()
    is_json = suffix == ".json" or (suffix not in (".yaml", ".yml") and text.lstrip().startswith(("{", "[")))
    if not text.strip():
        raise TaskInvalid(f"{name} is empty", (Problem("", "the document is empty"),))
    document = _read_json(text, name) if is_json else _read_yaml(text, name)
    require_plain(document)
    return document


def read_json_value(text: str) -> object:
    """Parse a JSON value; raise `ValueError` if it is invalid."""
    return json.loads(text, object_pairs_hook=_object)


def require_plain(document: object) -> None:
    """Raise `TaskInvalid` unless the document consists of plain JSON values."""
    problems = list(_not_plain(document))
    if problems:
        raise task_invalid(problems)


def _read_json(text: str, name: str) -> object:
    try:
        return read_json_value(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(
            name, error.lineno, error.colno, _lowered(error.msg), _json_hint(text, error.pos)
        ) from error
    except RecursionError as error:
        raise task_invalid([Problem("", "the document is nested too deeply")]) from error
    except ValueError as error:
        # Python does not parse integers with thousands of digits.
        raise task_invalid([Problem("", "a number has too many digits", "put it in quotes")]) from error


def _read_yaml(text: str, name: str) -> object:
    try:
        return _constructed(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = " ".join(filter(None, (error.context, error.problem))) or "not YAML"
        hint = "indent with spaces, not tabs" if "\\t" in reason else ""
        raise _syntax_error(name, line, column, reason, hint) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"the character U+{ord(text[error.position]):04X} is not allowed in YAML"
        column = error.position - text.rfind("\n", 0, error.position)
        raise _syntax_error(name, line, column, reason, "") from error
    except RecursionError as error:
        raise task_invalid([Problem("", "the document is nested too deeply")]) from error
    except ValueError as error:
        # PyYAML raises these itself: a date like 2024-13-45, a number with too many digits.
        raise task_invalid([Problem("", f"a value cannot be read: {error}", "put it in quotes")]) from error


def _constructed(text: str) -> object:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is not None and _expanded_size(node) > _MAX_EXPANDED:
            raise task_invalid([Problem("", _TOO_LARGE, "aliases and merge keys repeat what they name")])
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def _expanded_size(root: yaml.Node) -> int:
    """Return the number of values with every alias replaced by what it names, before any of them is made. A
    document without aliases counts as empty: its size is that of its text.
    """
    sizes: dict[int, int] = {}
    distinct = 0
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    while stack:
        node, is_read = stack.pop()
        if is_read:
            sizes[id(node)] = min(1 + sum(sizes[id(each)] for each in _inner_nodes(node)), _MAX_VALUES)
        elif id(node) not in sizes:
            distinct += 1
            sizes[id(node)] = _MAX_VALUES  # until it is read: an alias to what contains it has no end
            stack += [(node, True), *((each, False) for each in _inner_nodes(node))]
    expanded = sizes[id(root)]
    return expanded if expanded > distinct else 0


def _inner_nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    for value in node.value if isinstance(node, yaml.CollectionNode) else ():
        yield from value if isinstance(value, tuple) else (value,)


def _syntax_error(name: str, line: int, column: int, reason: str, hint: str) -> TaskInvalid:
    problem = Problem("", f"line {line}, column {column}: {reason}", hint)
    return TaskInvalid(f"{name}, line {line}, column {column}: {reason}", (problem,), hint=hint)


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _json_hint(text: str, position: int) -> str:
    rest = text[position:].lstrip()
    before = text[:position].rstrip()
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; a .yaml file may have them"
    if rest.startswith(("}", "]")) and before.endswith(","):
        return "remove the trailing comma"
    if rest.startswith("'"):
        return "JSON strings use double quotes"
    if rest[:4] in ("True", "Fals", "None"):
        return "use true, false and null"
    return ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    marked = _DuplicateKeys(whole)
    names = [name for name, _ in pairs]
    marked.duplicates = tuple(name for name in whole if names.count(name) > 1)
    return marked


def _not_plain(document: object) -> Iterator[Problem]:
    """Walk the document up to a limit: YAML aliases make a small file infinite or huge."""
    stack: list[tuple[tuple[int | str, ...], object]] = [((), document)]
    count = 0
    while stack:
        path, value = stack.pop()
        count += 1
        if len(path) > _MAX_DEPTH or count > _MAX_VALUES:
            yield Problem("", _TOO_LARGE)
            return
        if isinstance(value, dict):
            yield from _bad_keys(path, value)
            stack.extend(((*path, str(key)), inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            if _is_plain_text(value):  # a list of URLs is long, and checked at once
                count += len(value) // _TEXTS_PER_VALUE
            else:
                stack.extend(((*path, index), value[index]) for index in reversed(range(len(value))))
        elif reason := _bad_value(value):
            yield Problem(format_path(path), *reason)


def _is_plain_text(values: list[Any]) -> bool:
    """Return True if all values are texts without lone surrogates."""
    try:
        "".join(values).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return True


def _bad_keys(path: tuple[int | str, ...], value: dict[Any, Any]) -> Iterator[Problem]:
    for key in value.duplicates if isinstance(value, _DuplicateKeys) else ():
        yield Problem(format_path((*path, key)), f"duplicate key {key!r}", "keep one of them")
    for key in value:
        if not isinstance(key, str):
            yield Problem(format_path(path), f"the key {format_value(key)} is not text", "put it in quotes")
        elif _is_broken(key):
            yield Problem(format_path(path), "a key contains a lone surrogate")


def _bad_value(value: object) -> tuple[str, str] | None:
    match value:
        case str():
            return ("the text contains a lone surrogate", "") if _is_broken(value) else None
        case None | bool() | int():
            return None
        case float():
            return None if math.isfinite(value) else (f"{value} is not a JSON number", "")
        case _:
            return (f"{format_value(value)} is read as a {type(value).__name__}", "put it in quotes")


def _is_broken(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
