"""SQL lives in named blocks of `.sql` files: `-- name: what it does`, then the statement."""

from __future__ import annotations

import re
from importlib import resources
from types import SimpleNamespace

_BLOCK = re.compile(r"^-- ([a-z_]+): .*$", re.MULTILINE)


def load(file: str, package: str = __package__) -> SimpleNamespace:
    """The statements of one file, by name. `package` is whose `sql` folder it is in."""
    return SimpleNamespace(**blocks(text(file, package)))


def blocks(text: str) -> dict[str, str]:
    """Statements by their names."""
    parts = _BLOCK.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def text(file: str, package: str) -> str:
    """A whole file of statements."""
    return (resources.files(package) / "sql" / file).read_text(encoding="utf-8")
