"""The http-state suite: cookies that servers set, and those that come back.

    python -m benchmarks.outside.cookies

Answers go through the parser and the jar of the HTTP transport; the cookies for the second request are
compared byte by byte. The suite was written in 2011, so the clock stands there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.core.cookies.jar import CookieJar
from smartspider.core.requests.urls import normal_url

SOURCE = "github:abarth/http-state@155e45c6168e6de2eb727193010fd12e3c789185"
NOW = 1_300_000_000.0
HOST = "http://home.example.org:8888"
SHARE_ASKED = 215 / 222


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked."""
    results = Results("http-state cookies")
    for test in sorted((open_source(SOURCE) / "tests/data/parser").glob("*-test")):
        name = test.name.removesuffix("-test")
        expected = _headers(test.with_name(f"{name}-expected"), b"Cookie")
        results.add(name, b"".join(expected), sent_back(name, test))
    return results.report(asked=SHARE_ASKED)


def sent_back(name: str, test: Path) -> bytes:
    """Return the cookies of the request that follows the answer of a test."""
    cookies = CookieJar(lambda: NOW)
    url = f"{HOST}/cookie-parser?{name}"
    cookies.store(url, _headers(test, b"Set-Cookie"))
    location = _headers(test, b"Location") or [b"/cookie-parser-result?" + name.encode()]
    target = normal_url(location[0].decode(), url)
    return (target and cookies.header_for(target)) or b""


def _headers(file: Path, name: bytes) -> list[bytes]:
    """Return the values of a header; lines end with a line feed."""
    pairs = (line.split(b":", 1) for line in file.read_bytes().split(b"\n") if b":" in line)
    return [value.strip(b" \t") for key, value in pairs if key.strip().lower() == name.lower()]


if __name__ == "__main__":
    sys.exit(main())
