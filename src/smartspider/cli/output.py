"""Data goes to standard output, talk to standard error."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
    sys.stdout.write(text + "\n")


def tell_json(value: Any) -> None:
    """A JSON value as one line of the answer."""
    sys.stdout.write(msgspec.json.encode(value, enc_hook=str).decode() + "\n")


def say(text: str) -> None:
    """A line for the person at the terminal."""
    sys.stderr.write(text + "\n")


def tell(text: str) -> None:
    """A line of the answer."""
    sys.stdout.write(text + "\n")


def size(count: int) -> str:
    """Bytes as people read them."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return ""


def count(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: list[str]) -> str:
    """Names after one another, only the ends of a long list."""
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} to {names[-1]} ({len(names)} files)"
