"""A regular expression of a person: Python's syntax and results, in bounded time.

`re` searches a text that is short enough for the pattern to be cheap, which almost every URL and value is.
RE2 searches other ASCII texts, in linear time. What RE2 cannot match, and texts beyond ASCII, go to `regex`,
which stops at a deadline.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Protocol

import msgspec

from smartspider.core.errors import PatternTimeout
from smartspider.core.patterns.cost import MAX_STEPS, cheap_length
from smartspider.core.patterns.re2_source import Untranslatable, to_re2
from smartspider.core.patterns.regex_source import to_regex
from smartspider.core.patterns.syntax import parse
from smartspider.core.patterns.template import ReplacementTemplate


class PatternLimits(msgspec.Struct, frozen=True):
    """The bounds of one search, or of all matches in one text."""

    longest_s: float = 2.0
    max_steps: int = MAX_STEPS
    """Steps of `re` after which a search is left to another engine."""
    max_re2_steps: int = 2_000_000_000
    """States times characters that RE2 passes in about `longest_s`."""


LIMITS = PatternLimits()
_SHOWN = 80

PATTERN_ERRORS = (re.error, OverflowError, RecursionError)
"""Errors of a pattern that is no regular expression."""


def pattern_timeout(pattern: str, limits: PatternLimits) -> PatternTimeout:
    """Return the error of a pattern that took too long."""
    shown = pattern if len(pattern) <= _SHOWN else f"{pattern[: _SHOWN - 1]}…"
    return PatternTimeout(
        f"the pattern {shown!r} took more than {limits.longest_s:g} s",
        hint="avoid repeats inside repeats, and alternatives that begin alike",
    )


class PatternMatch(Protocol):
    """A match, as `re` returns it."""

    def __getitem__(self, group: int | str, /) -> Any:
        """Return the text of a group; None if it did not take part."""

    def groupdict(self) -> dict[str, Any]:
        """Return the texts of named groups."""

    def start(self) -> int:
        """Return where the match begins."""

    def end(self) -> int:
        """Return where the match ends."""


class UserPattern:
    """A compiled regular expression. Searches equal those of `re`, or raise `PatternTimeout`."""

    def __init__(self, pattern: str, flags: int = 0, limits: PatternLimits = LIMITS) -> None:
        self._limits = limits
        self._re = re.compile(pattern, flags)
        self.pattern = pattern
        self.groups = self._re.groups
        self.groupindex = self._re.groupindex
        self._longest = -1
        """Texts up to this length are searched by `re`; -1: not computed yet."""

    @property
    def cheap(self) -> tuple[int, Callable[[str], re.Match[str] | None]]:
        """The length of texts that `re` may search, and its search: for many texts in a row."""
        self._measure()
        return self._longest, self._re.search

    def search(self, text: str) -> PatternMatch | None:
        """Return the first match."""
        if len(text) <= self._longest:
            return self._re.search(text)
        return next(self.finditer(text), None)

    def finditer(self, text: str) -> Iterator[PatternMatch]:
        """Iterate over the matches."""
        self._measure()
        if len(text) <= self._longest:
            return self._re.finditer(text)
        program: _Re2Program | None = self._re2 if text.isascii() else None
        if program is not None and program.takes(text):
            return program.finditer(text, self)
        return self._within_time(text)

    def sub(self, replacement: ReplacementTemplate, text: str, count: int = 0) -> str:
        """Return the text with its matches, or the first `count` of them, replaced."""
        if len(text) <= self._longest:
            return self._re.sub(replacement.source, text, count)
        pieces: list[str] = []
        at = 0
        for found in islice(self.finditer(text), count or None):
            pieces += (text[at : found.start()], replacement.expand(found))
            at = found.end()
        return "".join([*pieces, text[at:]])

    def template(self, source: str) -> ReplacementTemplate:
        """Compile a replacement; raise `re.error` or `IndexError`."""
        return ReplacementTemplate(source, self._re)

    def _measure(self) -> None:
        if self._longest < 0:
            nodes, flags = self._parsed
            self._longest = cheap_length(nodes, flags, self._limits.max_steps)

    def _within_time(self, text: str) -> Iterator[PatternMatch]:
        try:
            for found in self._regex.finditer(text, timeout=self._limits.longest_s):
                yield _RegexMatch(found, self)
        except TimeoutError:
            raise pattern_timeout(self.pattern, self._limits) from None

    @cached_property
    def _parsed(self) -> tuple[Any, int]:
        return parse(self.pattern, self._re.flags)

    @cached_property
    def _regex(self) -> Any:
        import regex  # type: ignore[import-untyped] # its stubs lack `timeout`

        return regex.compile(to_regex(*self._parsed), regex.V0)

    @cached_property
    def _re2(self) -> _Re2Program | None:
        nodes, flags = self._parsed
        try:
            return _Re2Program(nodes, flags, self._limits)
        except Untranslatable:
            return None


class _Re2Program:
    """A pattern compiled by RE2, for ASCII texts."""

    def __init__(self, nodes: Any, flags: int, limits: PatternLimits) -> None:
        import re2  # type: ignore[import-untyped] # has no stubs

        self._limits = limits
        if nodes.getwidth()[0] == 0:
            raise Untranslatable("RE2 goes on differently after an empty match")
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        source = to_re2(nodes, flags)
        try:
            self._program = re2.compile(source.encode(), options)
        except re2.error as error:
            raise Untranslatable(str(error)) from error
        self._size = self._program.programsize
        self._has_end = r"\z" in source
        """RE2 matches `$` only at the end, not before a final line break."""

    def takes(self, text: str) -> bool:
        """Return whether a text is searched as `re` would, soon enough."""
        return len(text) * self._size <= self._limits.max_re2_steps and not (
            self._has_end and text.endswith("\n")
        )

    def finditer(self, text: str, pattern: UserPattern) -> Iterator[PatternMatch]:
        """Iterate over the matches. Each is found in linear time; all of them within the time allowed."""
        deadline = time.perf_counter() + self._limits.longest_s
        for found in self._program.finditer(text.encode()):
            if time.perf_counter() > deadline:
                raise pattern_timeout(pattern.pattern, self._limits)
            yield _Re2Match(text, found, pattern)


class _Re2Match:
    __slots__ = ("_found", "_pattern", "_text")

    def __init__(self, text: str, found: Any, pattern: UserPattern) -> None:
        self._text = text
        self._found = found
        self._pattern = pattern

    def __getitem__(self, group: int | str) -> Any:
        number = self._pattern.groupindex[group] if isinstance(group, str) else group
        start, end = self._found.span(number)
        return None if start < 0 else self._text[start:end]

    def groupdict(self) -> dict[str, Any]:
        return {name: self[number] for name, number in self._pattern.groupindex.items()}

    def start(self) -> int:
        return int(self._found.start())

    def end(self) -> int:
        return int(self._found.end())


class _RegexMatch:
    __slots__ = ("_found", "_pattern")

    def __init__(self, found: Any, pattern: UserPattern) -> None:
        self._found = found
        self._pattern = pattern

    def __getitem__(self, group: int | str) -> Any:
        return self._found[self._pattern.groupindex[group] if isinstance(group, str) else group]

    def groupdict(self) -> dict[str, Any]:
        return {name: self._found[number] for name, number in self._pattern.groupindex.items()}

    def start(self) -> int:
        return int(self._found.start())

    def end(self) -> int:
        return int(self._found.end())


@lru_cache(maxsize=512)
def user_pattern(pattern: str, flags: int = 0) -> UserPattern:
    """Return the compiled pattern; raise one of `PATTERN_ERRORS`."""
    return UserPattern(pattern, flags)
