"""SQL lives in named blocks of `.sql` files: `-- name: what it does`, then the statement."""

from __future__ import annotations

import re
from importlib import resources
from types import SimpleNamespace

_BLOCK = re.compile(r"^-- ([a-z_]+): .*$", re.MULTILINE)


def load(file: str) -> SimpleNamespace:
    """The statements of one file, by name."""
    parts = _BLOCK.split(text(file))
    return SimpleNamespace(
        **{name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    )


def schema() -> str:
    """The statements that make an empty data folder."""
    return text("schema.sql")


def text(file: str) -> str:
    """A whole file of statements."""
    return (resources.files(__package__) / "sql" / file).read_text(encoding="utf-8")
