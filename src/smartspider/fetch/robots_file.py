"""A parsed robots.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from protego import Protego

from smartspider.core.pages.page import ROBOTS_TOKEN

MAX_BYTES = 500 * 1024
MAX_CRAWL_DELAY_S = 300.0
DECISIONS_KEPT = 8192

_USER_AGENT = re.compile(r"^(\s*user-agent\s*:\s*)([^\r\n#]*)", re.IGNORECASE | re.MULTILINE)
_TOKEN = re.compile(r"[a-z_-]+", re.IGNORECASE)
_STRANGER = "another-crawler"
_EFFECTS = {"allow": True, "disallow": False}


class RobotsFile:
    """The rules of a robots.txt for this crawler. `allows` caches its answers by URL."""

    def __init__(self, body: bytes) -> None:
        if len(body) >= MAX_BYTES:
            # The last line of a truncated file may be half a rule, which forbids more than the whole rule.
            body = body[: body.rfind(b"\n") + 1]
        self._text = _named_in_full(body.decode("utf-8-sig", errors="replace"))
        self._parsed = Protego.parse(self._text)
        self.allows = lru_cache(maxsize=DECISIONS_KEPT)(self._judge)

    @property
    def size(self) -> int:
        """Length in bytes."""
        return len(self._text)

    @property
    def crawl_delay_s(self) -> float | None:
        """The Crawl-delay for this crawler, at most five minutes."""
        delay_s = self._parsed.crawl_delay(ROBOTS_TOKEN)
        return None if delay_s is None else min(float(delay_s), MAX_CRAWL_DELAY_S)

    def deciding_line(self, url: str) -> str | None:
        """Return the line that decides about a URL (the longest match), or None."""
        verdict = self.allows(url)
        matching = [
            (len(pattern), line)
            for line, is_allow, pattern in _our_rules(self._text)
            if is_allow == verdict and _matches(pattern, url)
        ]
        return max(matching, key=lambda found: found[0])[1] if matching else None

    def _judge(self, url: str) -> bool:
        return bool(self._parsed.can_fetch(url, ROBOTS_TOKEN))


def _matches(pattern: str, url: str) -> bool:
    """Return whether a pattern matches a URL, as the parser understands patterns."""
    return not Protego.parse(f"User-agent: *\nDisallow: {pattern}").can_fetch(url, "*")


def _our_rules(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield line, effect and pattern of the rules in groups that apply to this crawler."""
    groups = list(_groups(text))
    scores = [max(map(_score, agents)) for agents, _ in groups]
    best = max(scores, default=0)
    for score, (_, rules) in zip(scores, groups, strict=True):
        if score == best and best > 0:
            yield from rules


def _groups(text: str) -> Iterator[tuple[list[str], list[tuple[str, bool, str]]]]:
    agents: list[str] = []
    rules: list[tuple[str, bool, str]] = []
    is_naming = True
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        field, _, value = (part.strip() for part in line.partition(":"))
        field = field.lower()
        if field == "user-agent":
            if not is_naming and agents:
                yield agents, rules
                agents, rules = [], []
            is_naming = True
            agents.append(value.lower())
        elif field and field not in {"sitemap", "host"}:
            is_naming = False
            if field in _EFFECTS and value:
                rules.append((line, _EFFECTS[field], value))
    if agents:
        yield agents, rules


def _score(agent: str) -> int:
    """Return how specifically a group applies: not at all, by wildcard, by name."""
    return {"*": 1, ROBOTS_TOKEN.lower(): 2}.get(agent, 0)


def _named_in_full(text: str) -> str:
    """Return the file with all agent names replaced that are neither ours nor the wildcard.

    RFC 9309 compares whole product tokens without a version; the parser would match parts of a name.
    """
    return _USER_AGENT.sub(lambda found: found[1] + _addressee(found[2]), text)


def _addressee(value: str) -> str:
    token = _TOKEN.match(value)
    if token is None:
        return "*" if value.strip().startswith("*") else _STRANGER
    return ROBOTS_TOKEN if token[0].lower() == ROBOTS_TOKEN.lower() else _STRANGER
