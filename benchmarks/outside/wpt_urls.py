"""The URL tests of the web platform tests: parsing, and queries in legacy charsets.

    python -m benchmarks.outside.wpt_urls

Only tests that the URL parser (ada) passes count, and of their results only http(s) URLs, which we keep
without fragment; all others must be refused. Percent-encoding counts in all charsets of the test.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ada_url
from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.core.requests.query_encoding import encode_query
from smartspider.core.requests.urls import normal_url
from smartspider.fetch.charset.labels import codec_for

WPT = "github:web-platform-tests/wpt@7aceb5837f0691cd1630cf36e0ccf88318fd185a"
SHARE_ASKED = 1.0
ENCODINGS_ASKED = 14 / 16
"""Python's iso-2022-jp and gb18030 encode one character each that the tables of the web do not have."""


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked."""
    folder = open_source(WPT) / "url/resources"
    results = Results("WPT url")
    for case in _cases(folder / "urltestdata.json"):
        base = case["base"] or None
        if _ada(case["input"], base) == case.get("href"):
            results.add(f"{case['input']!r} on {base}", _kept(case), normal_url(case["input"], base))
    encodings = Results("WPT percent-encoding")
    for case in _cases(folder / "percent-encoding.json"):
        for label, expected in case["output"].items():
            codec = codec_for(label)
            if codec is not None:
                url = normal_url(encode_query(f"http://h/?{case['input']}", codec)) or ""
                encodings.add(f"{case['input']!r} in {label}", expected, url.partition("?")[2])
    return max(results.report(asked=SHARE_ASKED), encodings.report(asked=ENCODINGS_ASKED))


def _cases(file: Path) -> list[dict[str, Any]]:
    return [each for each in json.loads(file.read_bytes()) if isinstance(each, dict)]


def _ada(text: str, base: str | None) -> str | None:
    try:
        return ada_url.join_url(base, text) if base is not None else ada_url.normalize_url(text)
    except ValueError:
        return None


def _kept(case: dict[str, Any]) -> str | None:
    href = case.get("href") or ""
    return href.partition("#")[0] if href.startswith(("http://", "https://")) else None


if __name__ == "__main__":
    sys.exit(main())
