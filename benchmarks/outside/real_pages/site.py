"""Serve one labelled page on loopback under the path it had, with its next page and its decoys.

The page also answers other queries of its path, as servers do that ignore what they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

import msgspec
from benchmarks.outside.real_pages.labels import Label
from selectolax.lexbor import LexborHTMLParser

from smartspider_testing.sites.threaded import serve_in_thread

Address = tuple[str, tuple[tuple[str, str], ...]]
"""A path and the pairs of a query, decoded."""

_TYPES = {".json": "application/json", ".xml": "application/xml", ".txt": "text/plain"}
_TEXT = re.compile(r">([^<>]{12,})<")
_HREF = re.compile(r'(\shref=")([^"#?]*)([^"]*)"')


class Answer(msgspec.Struct, frozen=True):
    """A response of the site."""

    body: bytes
    type: str


class Site(msgspec.Struct, frozen=True):
    """A labelled page at its loopback address."""

    url: str
    origin: str
    """The loopback origin."""
    original: str
    """The origin that the page had."""

    def restore(self, value: Any) -> Any:
        """Return a value with the original origin instead of the loopback one."""
        if isinstance(value, list):
            return [self.restore(each) for each in value]
        return value.replace(self.origin, self.original) if isinstance(value, str) else value


@contextmanager
def serve(label: Label, root: Path) -> Iterator[Site]:
    """Serve the page of a label from the folder of its source."""
    answers = _answers(label, root)
    page = _same(_target(label.url))
    host = urlsplit(label.url).netloc

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            same_path = _same(self.path)[0] == page[0]
            answer = answers.get(_same(self.path)) or (answers[page] if same_path else None)
            answer = answer or _file(label, root, self.path)
            self.send_response(200 if answer else 404)
            if answer:
                self.send_header("Content-Type", answer.type)
            body = _moved(answer.body, host, origin) if answer else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep the report clean."""

    with serve_in_thread(Handler) as origin:
        original = f"{urlsplit(label.url).scheme}://{host}"
        yield Site(origin + _target(label.url), origin, original)


def _answers(label: Label, root: Path) -> dict[Address, Answer]:
    """Return the page, its next page and its decoys by their addresses."""
    kind = f"{label.type}; charset={label.charset}" if label.charset else label.type
    body = (root / label.path).read_bytes()
    others = [label.next] if label.next and not label.next_path else []
    others += label.next_others
    answers = {
        _same(_target(urljoin(label.url, url))): Answer(other_items(body, label, str(number)), kind)
        for number, url in enumerate([*others, *label.decoys], 2)
    }
    if label.next and label.next_path:
        answers[_same(_target(urljoin(label.url, label.next)))] = Answer(
            (root / label.next_path).read_bytes(), kind
        )
    answers[_same(_target(label.url))] = Answer(body, kind)
    return answers


def other_items(body: bytes, label: Label, mark: str) -> bytes:
    """Return the page with other items: their longer texts and their links differ, dates and numbers stay."""
    charset = label.charset or "utf-8"
    tree = LexborHTMLParser(body.decode(charset, "replace"))
    page = tree.html or ""
    for item in tree.css(label.items[0]):
        html = item.html or ""
        changed = _TEXT.sub(lambda text: f">{text[1].rstrip()} {mark}<" if text[1].strip() else text[0], html)
        changed = _HREF.sub(lambda href: f'{href[1]}{_other_path(href[2], href[3], mark)}"', changed)
        page = page.replace(html, changed, 1)
    return page.encode(charset, "xmlcharrefreplace")


def _other_path(path: str, rest: str, mark: str) -> str:
    if rest.startswith("?"):
        query, hash_, fragment = rest.partition("#")
        return f"{path}{query}{mark}{hash_}{fragment}"
    stem, dot, extension = path.rpartition(".")
    if dot and "/" not in extension and stem:
        return f"{stem}-{mark}.{extension}{rest}"
    return f"{path.rstrip('/')}-{mark}{'/' if path.endswith('/') else ''}{rest}" if path else rest


def _file(label: Label, root: Path, target: str) -> Answer | None:
    """Return a file of the source at its address, as the folders of the label say."""
    address = urljoin(label.url, unquote(urlsplit(target).path))
    for prefix, folder in label.sites.items():
        if address.startswith(prefix):
            path = root / folder / (address.removeprefix(prefix) or "index.html")
            if path.is_file():
                return Answer(path.read_bytes(), _TYPES.get(path.suffix, "text/html"))
    return None


def _moved(body: bytes, host: str, origin: str) -> bytes:
    """Return a body whose links to the host of the page lead to the loopback origin."""
    pattern = rb"(?:https?:)?(\\?/\\?/)" + re.escape(host.encode()) + rb"(?![\w.-])"
    here = urlsplit(origin).netloc.encode()
    return re.sub(pattern, lambda found: b"http:" + found[1] + here, body)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _same(target: str) -> Address:
    """Return a key that is equal for spellings of one address."""
    parts = urlsplit(target)
    return unquote(parts.path), tuple(sorted(parse_qsl(parts.query, keep_blank_values=True)))
