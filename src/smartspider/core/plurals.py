"""Numbers with nouns in messages."""

from __future__ import annotations


def count(number: int, noun: str, several: str = "") -> str:
    """Return `1 page`, `2 pages`; `several` is a plural that is not made with an s."""
    return f"{number} {plural(number, noun, several)}"


def plural(number: int, noun: str, several: str = "") -> str:
    """Return `page` for one, `pages` otherwise."""
    return noun if number == 1 else several or f"{noun}s"
