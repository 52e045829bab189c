"""Task files to start from."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from smartspider.core.errors import NotFound
from smartspider.taskfile.load import parse_task, read_document

_URL = '"http://127.0.0.1:8000/"'


def template_names() -> list[str]:
    """The templates there are, by name."""
    names = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def render_template(name: str, *, url: str | None, task_name: str | None) -> str:
    """A template as JSON text, with URL and name put in. Raises TaskInvalid when they are not usable."""
    if name not in template_names():
        raise NotFound(f"there is no template {name!r}", hint="templates: " + ", ".join(template_names()))
    text = _folder().joinpath(f"{name}.json").read_text(encoding="utf-8")
    if url is not None:
        text = text.replace(_URL, json.dumps(url, ensure_ascii=False))
    if task_name is not None:
        text = text.replace(f'"name": "{name}"', f'"name": {json.dumps(task_name, ensure_ascii=False)}', 1)
    parse_task(read_document(text, f"{name}.json"))
    return text


def _folder() -> Traversable:
    return files("smartspider.taskfile").joinpath("templates")
