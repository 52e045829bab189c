"""The OpenAPI document keeps every operation, schema and status; only texts may change.

`openapi.json` is the document without its texts. A new operation is added to it on purpose:
`python -m tests.unit.api.test_openapi_kept` writes it anew and prints what changed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.unit.api.asking import SETTINGS, open_services

from smartspider.api.app import create_app
from smartspider.operations.services import Services

KEPT = Path(__file__).with_name("openapi.json")
TEXTS = frozenset({"description", "summary", "title", "example", "examples"})
VERSION = {"info": {"version": "any"}}


def without_texts(value: Any) -> Any:
    """A document without what only people read, parameters in the order of their names."""
    if isinstance(value, dict):
        return {
            name: _without_texts_of_all(one) if name == "properties" else without_texts(one)
            for name, one in value.items()
            if not (name in TEXTS and (isinstance(one, str) or name in ("example", "examples")))
        }
    if isinstance(value, list):
        found = [without_texts(one) for one in value]
        if all(isinstance(one, dict) and "in" in one for one in found):
            found.sort(key=lambda one: (one["in"], one["name"]))
        return found
    return value


def _without_texts_of_all(properties: Any) -> Any:
    """The same for the properties of a schema, which may have the name of a text."""
    if not isinstance(properties, dict):
        return without_texts(properties)
    return {name: without_texts(one) for name, one in properties.items()}


def document(services: Services) -> Any:
    return {**without_texts(json.loads(json.dumps(create_app(services).openapi()))), **VERSION}


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Each place where two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            if name not in before:
                yield f"added {path}/{name}"
            elif name not in after:
                yield f"removed {path}/{name}"
            else:
                yield from differences(before[name], after[name], f"{path}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif before != after:
        yield f"changed {path}: {before!r} -> {after!r}"


async def test_operations_schemas_and_statuses_are_kept(services: Services) -> None:
    found = list(differences(json.loads(KEPT.read_text()), document(services)))
    sys.stdout.write("\n".join(found or ["no difference"]))
    assert found == []


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_services(Path(folder), SETTINGS) as services:
            after = document(services)
    before = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    sys.stdout.writelines(f"{line}\n" for line in differences(before, after))
    KEPT.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    asyncio.run(_write())
