"""`download`: fetch the file that a URL names, such as an image or a PDF."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.items.columns import ColumnKind
from smartspider.core.pages.files import FileForm, FilePlan, new_reference
from smartspider.core.requests.urls import normal_url
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.base import Converter, type_name
from smartspider.plugins.options import InvalidOption

NAME_PARTS = ("sha256", "name", "ext", "host")
MAX_BYTES = 2_000_000_000
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_SAFE = re.compile(r"[\w.\- ]+")


class DownloadStep(Converter):
    """Replaces a URL by a reference to its file. The file is a request of the run, fetched after the page;
    the reference becomes the file's path, size and digest when rows are read.
    """

    kind: ColumnKind | None

    def __init__(
        self,
        *,
        folder: str = FilePlan().folder,
        name: str = FilePlan().name,
        max_bytes: int = FilePlan().max_bytes,
        value: FileForm = "object",
    ) -> None:
        _check_path("folder", folder)
        _check_path("name", _PLACEHOLDER.sub("x", name))
        for part in _PLACEHOLDER.findall(name):
            if part not in NAME_PARTS:
                known = ", ".join(f"{{{each}}}" for each in NAME_PARTS)
                raise InvalidOption("name", f"there is no {{{part}}}", f"known: {known}")
        if "{sha256}" not in name and "{name}" not in name:
            raise InvalidOption("name", "all files would have the same name", "use {sha256} or {name}")
        if not 1 <= max_bytes <= MAX_BYTES:
            raise InvalidOption("max_bytes", f"{max_bytes} is not a size", f"from 1 to {MAX_BYTES}")
        self._plan = FilePlan(folder, name, max_bytes)
        self._form: FileForm = value
        self.kind = "text" if value == "path" else "json"

    def apply(self, value: Any, context: PageContext) -> dict[str, Any]:
        """Return the reference."""
        if not isinstance(value, str):
            raise StepFailed(f"is {type_name(value)}, not the URL of a file")
        url = normal_url(value.strip(), context.base)
        if url is None or not value.strip():
            raise StepFailed("is not the http(s) URL of a file")
        return new_reference(url, self._plan, self._form)


def _check_path(option: str, path: str) -> None:
    """Raise `InvalidOption` unless a path stays below the folder that it is relative to."""
    parts = path.split("/")
    if any(not _SAFE.fullmatch(part) or part.startswith((".", " ")) for part in parts):
        hint = "letters, digits, '_', '-', '.' and '/', without a leading slash or dot, such as images/large"
        raise InvalidOption(option, f"{path!r} is not a path below the data folder", hint)
