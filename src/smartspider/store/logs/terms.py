"""The index terms of log lines: their words, and a term for each property that a filter can name.

All terms are in one full-text index, so any combination is found by index. A property term begins with a
character that no word has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec

from smartspider.core.logs import LEVELS, LogLine

MAX_WORD = 64
MAX_WORDS = 300
MAX_QUERY_WORDS = 20
"""Words of a query that are used."""
MAX_TERM = 120

_PREFIX = "\ue000"
_PUNCTUATION = {code: "\ue001" for code in range(128) if not chr(code).isalnum()}
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"  # written without spaces: each is a word
    r"|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


class LogFilter(msgspec.Struct, frozen=True):
    """Conditions that all must hold. `level` is the lowest; with `levels`, only these."""

    task_id: int | None = None
    run_id: int | None = None
    level: int | None = None
    levels: tuple[int, ...] = ()
    since: float | None = None
    until: float | None = None
    host: str | None = None
    url: str | None = None
    error: str | None = None
    worker: str | None = None
    text: str | None = None
    """Words that all occur in the text or the URL."""


def words(text: str) -> list[str]:
    """Return the words of a text, each once: letters and digits, normalised."""
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        found = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return list(dict.fromkeys(word[:MAX_WORD] for word in found))


def line_terms(line: LogLine) -> str:
    """Return all index terms of a line."""
    terms = [term("l", number) for number in LEVELS.values() if LEVELS["info"] <= number <= line.level]
    if line.run_id is not None:
        terms.append(term("r", line.run_id))
        terms += [
            term(f"r{line.run_id}l", number)
            for number in LEVELS.values()
            if LEVELS["warning"] <= number <= line.level
        ]
    if line.task_id is not None:
        terms.append(term("t", line.task_id))
    if line.host:
        terms.append(term("h", line.host))
    if line.error:
        terms.append(term("e", line.error))
    if line.worker:
        terms.append(term("w", line.worker))
    terms += words(line.url or "")[:MAX_WORDS]
    terms += words(line.text)[:MAX_WORDS]
    return " ".join(terms)


def filter_terms(only: LogFilter) -> list[str]:
    """Return the terms that a matching line has. A line with all of them may still not match."""
    terms = []
    level = min(only.levels, default=only.level)
    if only.run_id is not None and level is not None and level >= LEVELS["warning"]:
        terms.append(term(f"r{only.run_id}l", _indexed_level(level)))
    else:
        if only.run_id is not None:
            terms.append(term("r", only.run_id))
        if level is not None and level > LEVELS["debug"]:
            terms.append(term("l", _indexed_level(level)))
    if only.task_id is not None:
        terms.append(term("t", only.task_id))
    for kind, value in (("h", only.host), ("e", only.error), ("w", only.worker)):
        if value:
            terms.append(term(kind, value))
    terms += words(only.url or "")[:MAX_QUERY_WORDS]
    return terms + words(only.text or "")[:MAX_QUERY_WORDS]


def filter_conditions(only: LogFilter) -> tuple[str, tuple[Any, ...]]:
    """Return what follows `WHERE ... ` in a statement for a filter, and its values."""
    given: list[tuple[str, Any]] = [
        (f"log.{name} = ?", getattr(only, name))
        for name in ("task_id", "run_id", "host", "url", "error", "worker")
        if getattr(only, name) is not None
    ]
    given += [
        (f"log.{condition}", value)
        for condition, value in (
            ("level >= ?", only.level),
            ("at >= ?", only.since),
            ("at <= ?", only.until),
        )
        if value is not None
    ]
    conditions = [condition for condition, _ in given]
    if only.levels:
        conditions.append(f"log.level IN ({', '.join('?' * len(only.levels))})")
    text = "".join(f" AND {condition}" for condition in conditions)
    return text, (*(value for _, value in given), *only.levels)


def _indexed_level(level: int) -> int:
    """Return the highest level with a term that is not above this one."""
    return max(number for number in LEVELS.values() if number <= max(level, LEVELS["info"]))


def term(kind: str, value: object) -> str:
    """Return the term of a property. Two values may share one."""
    return f"{_PREFIX}{kind}{str(value)[:MAX_TERM].translate(_PUNCTUATION)}"


def match_expression(terms: Iterable[str]) -> str:
    """Return a full-text query for lines with all terms. No term has a space or a query operator."""
    return " ".join(terms)
