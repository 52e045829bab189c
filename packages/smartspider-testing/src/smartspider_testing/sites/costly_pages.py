"""A page and rules that take far more time or memory to read than their size suggests."""

from __future__ import annotations

from typing import Any


def paragraphs(size: int = 80_000) -> str:
    """Plain paragraphs, for rules that look at each of them from each of them."""
    part = "<p>p</p>"
    return "<h1>paragraphs</h1>" + part * (size // len(part))


def holding_rules() -> dict[str, Any]:
    """Return fields for which code in C reads `paragraphs` for minutes, and other pages at once."""
    return {"title": "h1::text", "count": {"type": "xpath", "expr": NESTED_COUNT}}


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
