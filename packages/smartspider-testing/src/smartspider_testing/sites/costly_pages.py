"""Pages and rules that take far more time or memory to read than their size suggests.

Each page is a function of its size, so that a test chooses how long it holds a parser. `COSTLY_PAGES` lists
the pages by name; `COSTLY_RULES` lists task parts that are slow on `paragraphs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

MANY_ATTRIBUTES = 200_000


def many_attributes(count: int = MANY_ATTRIBUTES) -> str:
    """One element with `count` attributes (2 MB): parsers compare each new name with all before it."""
    return f"<h1>many</h1><div {' '.join(f'a{number:x}=1' for number in range(count))}>x</div>"


def nested_options(size: int = 2_000_000) -> str:
    """A `select` with as many options as fit into `size` bytes, none of them closed."""
    return "<h1>options</h1><select>" + "<option>" * (size // 8)


def stray_paragraph_ends(size: int = 2_000_000) -> str:
    """Unclosed formatting elements between ends of paragraphs that never began."""
    part = "<font color=i></p>"
    return "<h1>fonts</h1>" + part * (size // len(part))


def paragraphs(size: int = 80_000) -> str:
    """Plain paragraphs, for rules that look at each of them from each of them."""
    part = "<p>p</p>"
    return "<h1>paragraphs</h1>" + part * (size // len(part))


def long_base(base: int = 1_000_000, links: int = 5_000) -> str:
    """A long `base` element and many links, which are all resolved against it."""
    anchors = "".join(f'<a class="child" href="{number}">x</a>' for number in range(links))
    return f'<base href="http://h.example/{"b" * base}/"><h1>base</h1>{anchors}'


def one_letter(size: int = 60) -> str:
    """A text on which `BACKTRACKING` tries every way there is."""
    return f"<h1>letters</h1><p class=text>{'a' * size}!</p>"


def holding_rules() -> dict[str, Any]:
    """Return fields for which code in C reads `paragraphs` for minutes, and other pages at once."""
    return {"title": "h1::text", "count": {"type": "xpath", "expr": NESTED_COUNT}}


BACKTRACKING = r"(a+)+$"
"""A regular expression with exponential cost on `one_letter`."""
NESTED_COUNT = "count(//p[count(//p[count(//p) > 1]) > 1])"
"""An XPath expression with cubic cost on `paragraphs`."""

FUNCTIONS = '''"""Functions of a task that do not end, or need all memory."""


def spin(value):
    while True:
        pass


def sleep(value):
    import time

    time.sleep(600)


def hold_lock(value):
    """Hold the interpreter lock in C."""
    return sum(range(10**12))


def eat_memory(value):
    kept = []
    while True:
        kept.append(bytearray(50_000_000))
'''
"""A file for rules and steps with `use: functions.py:NAME`."""

COSTLY_PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "many_attributes": many_attributes,
        "nested_options": nested_options,
        "stray_paragraph_ends": stray_paragraph_ends,
        "long_base": long_base,
    }
)
COSTLY_RULES: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "nested_count": {"type": "xpath", "expr": NESTED_COUNT},
        "backtracking": {"type": "regex", "expr": BACKTRACKING},
    }
)
