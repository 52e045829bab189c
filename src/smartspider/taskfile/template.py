"""Task templates."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.errors import NotFound

TEMPLATES = {
    "list": "items of a paginated list",
    "list_detail": "one item from each detail page linked from a list",
    "json_api": "items of a JSON API with page numbers",
    "sitemap": "pages listed in the site's sitemaps",
    "article": "articles of a blog or magazine, as Markdown",
    "table": "rows of a table on a page",
}
"""Descriptions by name. Each is a file in `templates` that runs unchanged on the demo shop."""


def render_template(name: str, *, url: str | None, task_name: str | None, as_yaml: bool = False) -> str:
    """Return a template as JSON or YAML text, with URL and name replaced. Raise `TaskInvalid` if they are
    invalid.
    """
    from importlib.resources import files

    from smartspider.taskfile.load import parse_task, read_document

    if name not in TEMPLATES:
        raise NotFound(f"there is no template {name!r}", hint=f"one of these\n{template_list()}")
    folder = files("smartspider.taskfile").joinpath("templates")
    text = folder.joinpath(f"{name}.json").read_text(encoding="utf-8")
    if url is not None:
        text = text.replace(f'"{_entry_url(text)}"', json.dumps(url, ensure_ascii=False), 1)
    if task_name is not None:
        text = text.replace(f'"name": "{name}"', f'"name": {json.dumps(task_name, ensure_ascii=False)}', 1)
    document = read_document(text, f"{name}.json")
    parse_task(document)
    return _yaml(document) if as_yaml else text


def _yaml(document: object) -> str:
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    return text


def template_list() -> str:
    """Return a line for each template."""
    width = max(map(len, TEMPLATES))
    return "\n".join(f"  {name:{width}}  {about}" for name, about in TEMPLATES.items())


def _entry_url(text: str) -> str:
    entry: Any = json.loads(text)["entry_urls"][0]
    return str(entry if isinstance(entry, str) else entry["url"])
