"""Files that a run downloads: where they are stored, and how items refer to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import FILE

FILE_PAGE = f"{FILE}:"
"""Prefix of the built-in page types of files."""
REFERENCE = FILE
"""The key of a reference; the first one, so that stored rows with references are found by their text."""
REFERENCE_TEXT = f'{{"{REFERENCE}":"'

_LITERAL = "literal"
"""In place of a fingerprint: what follows is an object of the page."""

FileForm = Literal["object", "path"]
"""The value in a row: the path, URL, digest, size and media type, or the path alone."""


class FilePlan(msgspec.Struct, frozen=True):
    """The options of a download: folder, template of the file name, and maximum size."""

    folder: str = "files"
    name: str = "{sha256}.{ext}"
    max_bytes: int = 20_000_000

    @property
    def page(self) -> str:
        """The page type of files with these options."""
        options = json.dumps(msgspec.structs.astuple(self)).encode()
        return FILE_PAGE + blake2b(options, digest_size=4).hexdigest()


class StoredFile(msgspec.Struct, frozen=True):
    """A downloaded file. `path` is relative to the folder of all files, with forward slashes."""

    path: str
    sha256: str
    bytes: int
    type: str


class FileOutcome(msgspec.Struct, frozen=True):
    """The outcome of a request for a file: the file, or the request it redirects to."""

    file: StoredFile | None = None
    target: bytes | None = None
    """The fingerprint of that request."""


class FileReference(dict[str, Any]):
    """The value of a field whose file is to be downloaded. A class of its own until it is stored: an object
    in the JSON of a page is no reference, whatever its keys are.
    """


IsReference = Callable[[dict[str, Any]], bool]


def new_reference(url: str, plan: FilePlan, form: FileForm) -> FileReference:
    """Return a reference to the file of a URL."""
    return FileReference({REFERENCE: plan.page, "url": url, "form": form})


def is_new(value: dict[str, Any]) -> bool:
    """Return whether an object of an item that was just extracted is a reference."""
    return isinstance(value, FileReference)


def is_stored(value: dict[str, Any]) -> bool:
    """Return whether an object of a stored item has the form of a reference. The store knows whether a
    request of the run has its fingerprint.
    """
    return isinstance(value.get(REFERENCE), str) and value.keys() == {REFERENCE, "url", "form"}


def is_forged(value: dict[str, Any]) -> bool:
    """Return whether an object of a page has the form of a stored reference."""
    return is_stored(value) and not is_new(value)


def as_literal(forged: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a page in a form that is stored without being taken for a reference."""
    return {REFERENCE: _LITERAL, "url": None, "form": forged}


def is_marked(value: dict[str, Any]) -> bool:
    """Return whether an object of an item that is to be stored is a reference, or marked as none."""
    return is_new(value) or (is_stored(value) and value[REFERENCE] == _LITERAL)


def literal_value(reference: dict[str, Any]) -> Any:
    """Return the object that `as_literal` stored; None for a reference."""
    return reference["form"] if reference[REFERENCE] == _LITERAL else None


def references_of(value: Any, is_reference: IsReference = is_new) -> Iterator[dict[str, Any]]:
    """Yield all references in an item or a part of one."""
    if isinstance(value, dict):
        if is_reference(value):
            yield value
            return
        for inner in value.values():
            yield from references_of(inner, is_reference)
    elif isinstance(value, list):
        for inner in value:
            yield from references_of(inner, is_reference)


def with_files(
    item: Item, value_of: Callable[[dict[str, Any]], Any], is_reference: IsReference = is_new
) -> Item:
    """Return an item with its references replaced."""

    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            if is_reference(value):
                return value_of(value)
            return {name: replaced(inner) for name, inner in value.items()}
        return [replaced(inner) for inner in value] if isinstance(value, list) else value

    return {name: replaced(value) for name, value in item.items()}


def file_value(reference: dict[str, Any], file: StoredFile) -> Any:
    """Return the value of a field whose file is stored."""
    if reference["form"] == "path":
        return file.path
    return {"path": file.path, "url": reference["url"], **_rest(file.sha256, file.bytes, file.type)}


def pending_value(reference: dict[str, Any]) -> Any:
    """Return the value of a field whose file is not downloaded yet, or the object of the page that only looks
    like a reference.
    """
    if (literal := literal_value(reference)) is not None:
        return literal
    if reference["form"] == "path":
        return None
    return {"path": None, "url": reference["url"], **_rest(None, None, None)}


def _rest(sha256: str | None, size: int | None, media_type: str | None) -> dict[str, Any]:
    return {"sha256": sha256, "bytes": size, "type": media_type}
