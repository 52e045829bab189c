"""The manual of the shop's command line: an index, chapters with options, settings, terms."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import msgspec

from smartspider.demo import pages

PATH = "/manual"
SETTINGS_PATH = f"{PATH}/settings"
TERMS_PATH = f"{PATH}/terms"


class Chapter(msgspec.Struct, frozen=True):
    """The chapter of one command."""

    name: str
    since: str
    summary: str
    example: str
    options: dict[str, str]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"{PATH}/{self.name}"


CHAPTERS = (
    Chapter(
        "find",
        "1.0.0",
        "Search the shelves for a product",
        "$ lantern find morning\nSP-1001  Morning Oolong\nSP-1002  Morning Breakfast Tea",
        {
            "--shelf NAME": "Search one shelf only.",
            "--below PRICE": "Leave out products at this price or above.",
            "--json": "Print JSON instead of a table.",
        },
    ),
    Chapter(
        "order",
        "1.0.0",
        "Put products into an order and send it",
        "$ lantern order SP-1001 --pieces 2\norder 4711: Morning Oolong, 2 pieces\nsend it? [y/N] y",
        {"--pieces N": "Order this many of each product.", "--gift": "Wrap the parcel and hide the prices."},
    ),
    Chapter(
        "track",
        "1.2.0",
        "Show where a parcel is",
        "$ lantern track 4711\nMon 09:12  packed\nTue 06:40  on its way",
        {"--watch": "Wait for news and print them.", "--since DAY": "Show what happened after this day."},
    ),
    Chapter(
        "return",
        "2.0.0",
        "Send a product back",
        '$ lantern return 4711 --why "too bright"\nlabel written to 4711.pdf',
        {"--why TEXT": "Tell the shop the reason.", "--label FILE": "Write the label to this file."},
    ),
)

SETTINGS = {
    "Connection": (
        ("shop_url", "none", "Address of the shop"),
        ("timeout_s", "30", "Seconds to wait for an answer"),
        ("retries", "2", "Further attempts after a failure"),
    ),
    "Output": (
        ("color", "auto", "Colours on a terminal: auto, always or never"),
        ("currency", "EUR", "Currency of all prices shown"),
    ),
}
EXIT_CODES = (
    ("0", "Everything worked"),
    ("1", "The shop refused the order"),
    ("2", "A word was not understood"),
)

TERMS = {
    "Shelf": "A group of products, such as teas or lamps.",
    "Order": "Products, an address and a day. It can be changed until it is packed.",
    "Parcel": "What leaves the shop. A large order travels in several parcels.",
    "Label": "A page with a bar code, to be glued onto a parcel.",
    "Credit": "Money that the shop owes you after a return.",
}


CHAPTERS_BY_NAME = {chapter.name: chapter for chapter in CHAPTERS}


def index_page(base: str) -> str:
    """Return the index: a table with one row for each command."""
    rows = [
        (f'<a href="{chapter.path}"><code>{chapter.name}</code></a>', chapter.since, escape(chapter.summary))
        for chapter in CHAPTERS
    ]
    body = f"""<h1>Manual</h1>
<p class="lead">Every command of <code>lantern</code>, the shop for people who like to type. See also the
<a href="{SETTINGS_PATH}">settings</a> and the <a href="{TERMS_PATH}">terms</a>.</p>
{_table(("Command", "Since", "Summary"), rows)}"""
    return pages.document("Manual", body, path=PATH, base=base)


def chapter_page(chapter: Chapter, base: str) -> str:
    """Return the page of a command: its example and its options."""
    options = "\n".join(
        f"<dt><code>{option}</code></dt>\n<dd><p>{escape(meaning)}</p></dd>"
        for option, meaning in chapter.options.items()
    )
    body = f"""<h1>{chapter.name}</h1>
<p class="lead">{escape(chapter.summary)}.</p>
<pre class="example">{escape(chapter.example)}</pre>
<h2>Options</h2>
<dl class="options">
{options}
</dl>
{_pager(chapter)}"""
    return pages.document(f"lantern {chapter.name}", body, path=chapter.path, base=base)


def settings_page(base: str) -> str:
    """Return the settings: one table per group with the same headers, and a table of exit codes."""
    groups = "\n".join(
        f"<h2>{title}</h2>\n{_table(('Setting', 'Default', 'Meaning'), rows)}"
        for title, rows in SETTINGS.items()
    )
    body = f"""<h1>Settings</h1>
{groups}
<h2>Exit codes</h2>
{_table(("Code", "Meaning"), EXIT_CODES)}"""
    return pages.document("Settings", body, path=SETTINGS_PATH, base=base)


def terms_page(base: str) -> str:
    """Return the terms of the manual as a definition list."""
    terms = "\n".join(
        f'<dt id="{term.lower()}">{term}</dt>\n<dd>{escape(meaning)}</dd>' for term, meaning in TERMS.items()
    )
    return pages.document("Terms", f"<h1>Terms</h1>\n<dl>\n{terms}\n</dl>", path=TERMS_PATH, base=base)


def _pager(chapter: Chapter) -> str:
    """Return links to the index and the chapter after this one, which is no page of the same list."""
    following = CHAPTERS[CHAPTERS.index(chapter) + 1 :]
    after = f'<a rel="next" href="{following[0].path}">{following[0].name}</a>' if following else ""
    return f'<nav class="pager"><a href="{PATH}">Manual</a>{after}</nav>'


def _table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{header}</th>" for header in headers)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="reference">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
