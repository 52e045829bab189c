"""SQL statements, read from `.sql` files: each is a block that begins with `-- name: what it does`."""

from __future__ import annotations

import re
from importlib import resources
from types import SimpleNamespace

_BLOCK = re.compile(r"^-- ([a-z_]+): .*$", re.MULTILINE)


def load(file: str, package: str) -> SimpleNamespace:
    """Return the statements of a file as attributes. `file` is a path inside `package`."""
    return SimpleNamespace(**blocks(text(file, package)))


def blocks(text: str) -> dict[str, str]:
    """Return the statements of a text by name."""
    parts = _BLOCK.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def text(file: str, package: str) -> str:
    """Return a whole file of statements."""
    return (resources.files(package) / file).read_text(encoding="utf-8")
