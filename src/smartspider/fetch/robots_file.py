"""A parsed robots.txt (RFC 9309), read as leniently as Google's parser reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from smartspider.core.pages.page import ROBOTS_TOKEN

MAX_BYTES = 500 * 1024
MAX_LINE_BYTES = 16_663
MAX_CRAWL_DELAY_S = 300.0
DECISIONS_KEPT = 8192
MAX_WILDCARDS = 2000
"""Rules with wildcards that are tried in full. Files of real sites have a few hundred at most."""

RobotsKey = Literal["user-agent", "allow", "disallow", "sitemap", "crawl-delay"]
_KEYS: dict[str, RobotsKey] = {
    "user-agent": "user-agent",
    "useragent": "user-agent",
    "user agent": "user-agent",
    "allow": "allow",
    "disallow": "disallow",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
    "sitemap": "sitemap",
    "site-map": "sitemap",
    "crawl-delay": "crawl-delay",
}
"""Beginnings of keys, with their frequent misspellings."""

_BOM = re.compile(b"\xef(?:\xbb\xbf?)?")
_LINE_END = re.compile("\r\n|\r|\n")
_NO_COLON = re.compile(r"([^ \t]+)[ \t]+([^ \t]+)")
_TOKEN = re.compile("[A-Za-z_-]*")
_EVERYBODY = re.compile(r"\*(?:\s|$)")
_URL_PATH = re.compile(r"(?:[^/?;#]*://|//)?[^/?;#]*([^#]*)")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_NOT_ASCII = re.compile("[\x80-\U0010ffff]+")
_UNRESERVED = re.compile("[A-Za-z0-9._~-]")
_ESCAPES = [f"%{byte:02X}" for byte in range(256)]
_INDEX_PAGE = "/index.htm"


class RobotsLine(NamedTuple):
    """A line of a robots.txt with a key. `key` None: the key is unknown."""

    number: int
    key: RobotsKey | None
    value: str
    text: str


class PathRule(NamedTuple):
    """An Allow or Disallow line."""

    is_allow: bool
    length: int
    """The length of the pattern: the longest match decides."""
    parts: tuple[str, ...]
    """The literal parts of the pattern; anything may be between two of them."""
    is_anchored: bool
    """The pattern ends with `$`: the last part must be the end of the path."""
    text: str
    """The line, for messages."""

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches an escaped path. Takes linear time per part."""
        first, *others = self.parts
        if not path.startswith(first):
            return False
        at = len(first)
        if not others:
            return not self.is_anchored or at == len(path)
        for part in others[:-1]:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        last = others[-1]
        if self.is_anchored:
            return len(path) - len(last) >= at and path.endswith(last)
        return path.find(last, at) >= 0


class RobotsFile:
    """The rules of a robots.txt for one crawler. `allows` caches its answers by URL."""

    def __init__(self, body: bytes, token: str = ROBOTS_TOKEN) -> None:
        if len(body) >= MAX_BYTES:
            # The last line of a truncated file may be half a rule, which forbids more than the whole rule.
            body = body[: body.rfind(b"\n") + 1]
        self.size = len(body)
        """Length in bytes."""
        group = _group_of(token, body)
        self._rules = _RuleIndex(group.rules)
        delay_s = group.crawl_delay_s
        self.crawl_delay_s = None if delay_s is None else min(delay_s, MAX_CRAWL_DELAY_S)
        """The Crawl-delay for this crawler, at most five minutes."""
        self.allows = lru_cache(maxsize=DECISIONS_KEPT)(self._judge)

    def deciding_line(self, url: str) -> str | None:
        """Return the line that decides about a URL (the longest match), or None."""
        rule = self._deciding_rule(url)
        return None if rule is None else rule.text

    def _judge(self, url: str) -> bool:
        rule = self._deciding_rule(url)
        return rule is None or rule.is_allow

    def _deciding_rule(self, url: str) -> PathRule | None:
        path = path_of(url)
        if path == "/robots.txt":
            return None
        return self._rules.deciding(_as_literal(_spell_escapes(path)))


class _RuleIndex:
    """Rules by their patterns: those without a wildcard are looked up, the others are tried in turn."""

    def __init__(self, rules: list[PathRule]) -> None:
        ordered = sorted(rules, key=lambda rule: (-rule.length, not rule.is_allow))
        self._plain: dict[tuple[str, bool], PathRule] = {}
        """By pattern, and whether it is anchored."""
        self._wild: list[PathRule] = []
        for rule in ordered:
            if len(rule.parts) == 1 or (rule.parts[1:] == ("",) and not rule.is_anchored):
                self._plain.setdefault((rule.parts[0], rule.is_anchored), rule)
            elif len(self._wild) < MAX_WILDCARDS:
                self._wild.append(rule)
            elif not rule.is_allow:
                # Too many to try at every URL: what comes before the wildcard is forbidden altogether.
                self._plain.setdefault((rule.parts[0], False), rule)
        self._lengths = {len(begin) for begin, is_anchored in self._plain if not is_anchored}

    def deciding(self, path: str) -> PathRule | None:
        """Return the longest rule that matches a path; of two, the one that allows."""
        keys = [(path, True), *((path[:length], False) for length in self._lengths)]
        found = [rule for key in keys if (rule := self._plain.get(key)) is not None]
        best = max(found, key=_weight, default=None)
        for rule in self._wild:
            if best is not None and _weight(rule) <= _weight(best):
                break
            if rule.matches(path):
                return rule
        return best


def _weight(rule: PathRule) -> tuple[int, bool]:
    return rule.length, rule.is_allow


class _Group:
    """The rules that one kind of user-agent line introduces."""

    def __init__(self) -> None:
        self.is_named = False
        self.rules: list[PathRule] = []
        self.crawl_delay_s: float | None = None

    def add(self, line: RobotsLine) -> None:
        if line.key == "crawl-delay":
            self.crawl_delay_s = _seconds(line.value)
        elif line.value:
            self.rules += _path_rules(line)


def _group_of(token: str, body: bytes) -> _Group:
    """Return the rules of all groups that name the token, or else of those for everybody."""
    ours, everybody = _Group(), _Group()
    current: list[_Group] = []
    is_naming = True
    for line in read_lines(body):
        if line.key == "user-agent":
            if not is_naming:
                current, is_naming = [], True
            if _EVERYBODY.match(line.value):
                current.append(everybody)
            elif token_of(line.value).lower() == token.lower():
                current.append(ours)
                ours.is_named = True
        elif line.key in {"allow", "disallow", "crawl-delay"} and current:
            is_naming = False
            for group in current:
                group.add(line)
    return ours if ours.is_named else everybody


def read_lines(body: bytes) -> Iterator[RobotsLine]:
    """Yield the lines with a key: `key: value`, or two words without a colon."""
    begin = _BOM.match(body)
    text = body[begin.end() if begin else 0 :].decode(errors="surrogateescape")
    for number, whole in enumerate(_LINE_END.split(text), 1):
        line = whole[:MAX_LINE_BYTES].partition("#")[0].strip()
        key, colon, value = line.partition(":")
        if not colon:
            words = _NO_COLON.fullmatch(line)
            if words is None:
                continue
            key, value = words[1], words[2]
        key = key.strip()
        if key:
            yield RobotsLine(number, _key_of(key), value.strip(), line)


def path_of(url: str) -> str:
    """Return path and query of a URL."""
    found = _URL_PATH.match(url)
    path = found[1] if found else ""
    return path if path.startswith("/") else f"/{path}"


def escape_pattern(pattern: str) -> str:
    """Return a pattern spelled like the paths it is compared with: characters outside ASCII escaped, escapes
    in upper case, and none for letters and digits.
    """
    return _spell_escapes(pattern if pattern.isascii() else _NOT_ASCII.sub(_escaped, pattern))


def _spell_escapes(path: str) -> str:
    return _ESCAPE.sub(_spelled, path) if "%" in path else path


def _escaped(found: re.Match[str]) -> str:
    return "".join(map(_ESCAPES.__getitem__, found[0].encode(errors="surrogateescape")))


def _spelled(found: re.Match[str]) -> str:
    character = chr(int(found[0][1:], 16))
    return character if _UNRESERVED.fullmatch(character) else found[0].upper()


def _as_literal(path: str) -> str:
    """Return a path whose `*` and `$` are no wildcards."""
    return path.replace("*", "%2A").replace("$", "%24")


def _path_rules(line: RobotsLine) -> Iterator[PathRule]:
    pattern = escape_pattern(line.value)
    yield _path_rule(line, pattern)
    folder, mark, _ = pattern.rpartition(_INDEX_PAGE)
    if line.key == "allow" and mark and "/" not in pattern[len(folder) + 1 :]:
        # Allowing the index page of a folder allows the folder.
        yield _path_rule(line, f"{folder}/$")


def _path_rule(line: RobotsLine, pattern: str) -> PathRule:
    is_anchored = pattern.endswith("$")
    parts = (pattern[:-1] if is_anchored else pattern).split("*")
    literal = tuple(_as_literal(part) for part in parts)
    return PathRule(line.key == "allow", len(pattern), literal, is_anchored, _printable(line.text))


def _key_of(key: str) -> RobotsKey | None:
    lowered = key.lower()
    return next((known for begin, known in _KEYS.items() if lowered.startswith(begin)), None)


def token_of(agent: str) -> str:
    """Return the product token of a user-agent line, without a version."""
    found = _TOKEN.match(agent)
    return found[0] if found else ""


def _seconds(value: str) -> float | None:
    try:
        delay_s = float(value)
    except ValueError:
        return None
    return delay_s if 0 <= delay_s < float("inf") else None


def _printable(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace")
