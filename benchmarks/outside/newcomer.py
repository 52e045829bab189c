"""A newcomer on three documentation sites: one command from a URL to a CSV, checked against the page itself.

Each site is served from its package on loopback. `smartspider crawl URL --yes -o rows.csv` must write every
row that an XPath finds in the page, each with all of its texts, and no other row, in less than a minute.

    python -m benchmarks.outside.newcomer
"""

from __future__ import annotations

import csv
import functools
import http.server
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lxml.html
from benchmarks.outside.sources import open_source

from smartspider_testing.sites.threaded import serve_in_thread

LIMIT_S = 60.0


@dataclass(frozen=True)
class Site:
    """A page of a documentation package, and its rows: an XPath each for rows and for the texts of a row."""

    source: str
    root: str
    page: str
    rows: str
    texts: tuple[str, ...]


SITES = (
    Site(
        "deb:python3.11-doc",
        "usr/share/doc/python3.11/html",
        "glossary.html",
        "//dl[contains(@class, 'glossary')]/dt",
        (".", "following-sibling::dd[1]"),
    ),
    Site(
        "deb:postgresql-doc-15",
        "usr/share/doc/postgresql-doc-15/html",
        "sql-keywords-appendix.html",
        "//table[.//th]//tbody/tr",
        ("td[1]", "td[2]", "td[3]", "td[4]", "td[5]"),
    ),
    Site("deb:sqlite3-doc", "usr/share/doc/sqlite3", "vtablist.html", "//table//tr[td]", ("td[1]", "td[2]")),
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    with serve_in_thread(functools.partial(_Quiet, directory=str(folder))) as origin:
        yield f"{origin}/"


def plain(text: str) -> str:
    """A text without white space and the paragraph signs of headings."""
    return "".join(text.replace("¶", "").split())


def wanted_rows(site: Site, folder: Path) -> list[tuple[str, ...]]:
    page = lxml.html.parse(str(folder / site.page)).getroot()
    return [
        tuple(plain("".join(part.text_content() for part in row.xpath(path))) for path in site.texts)
        for row in page.xpath(site.rows)
    ]


def attempt(site: Site) -> tuple[bool, str]:
    """Crawl the page; return whether the rows are right, and a line about it."""
    folder = open_source(site.source) / site.root
    wanted = wanted_rows(site, folder)
    with serving(folder) as url, tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "smartspider", "crawl", url + site.page, "--yes", "-o", "rows.csv"]
        started = time.monotonic()
        finished = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300, check=False)
        seconds = time.monotonic() - started
        output = Path(home) / "rows.csv"
        if finished.returncode or not output.exists():
            return False, f"exit code {finished.returncode}: {finished.stderr.strip()[-300:]}"
        with output.open(newline="", encoding="utf-8") as file:
            found = [{plain(cell) for cell in row.values() if cell} for row in csv.DictReader(file)]
    right = sum(any(set(filter(None, row)) <= cells for cells in found) for row in wanted)
    is_right = right == len(wanted) == len(found) and seconds < LIMIT_S
    return is_right, f"{right} of {len(wanted)} rows right, {len(found)} written, {seconds:.1f} s"


def main() -> int:
    answers = [(site, *attempt(site)) for site in SITES]
    print(f"newcomer: {sum(is_right for _, is_right, _ in answers)} of {len(SITES)} sites right")
    for site, is_right, line in answers:
        print(f"  {'ok   ' if is_right else 'WRONG'} {site.source} {site.page}: {line}")
    return 0 if all(is_right for _, is_right, _ in answers) else 1


if __name__ == "__main__":
    sys.exit(main())
