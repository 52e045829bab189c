"""The encoding tests of html5lib and the charset pages of the web platform tests.

    python -m benchmarks.outside.charset

A test of html5lib passes if the page reads as it does with the encoding the test names: a page of ASCII
is the same in UTF-8. A page of the web platform tests has a letter that only windows-1251 reads as Zhe,
and says whether its declaration counts.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source

from smartspider.fetch.charset.detection import detect_charset
from smartspider.fetch.charset.labels import codec_for

HTML5LIB = "github:html5lib/html5lib-tests@224991ec10db04f056a89eed8b0bd8695fd2950e"
WPT = "github:web-platform-tests/wpt@7aceb5837f0691cd1630cf36e0ccf88318fd185a"
SHARE_ASKED = 98 / 104

_CASE = re.compile(rb"#data\n(.*?)\n#encoding\n([^\n]+)", re.DOTALL)
_LISTED = re.compile(r'^  "([\w-]+\.html)",$', re.MULTILINE)


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked."""
    results = Results("charset")
    for file in sorted((open_source(HTML5LIB) / "encoding").glob("*.dat")):
        for number, (body, label) in enumerate(_CASE.findall(file.read_bytes()), 1):
            expected = codec_for(label.decode())
            found = detect_charset(body, "text/html")
            is_same = expected is not None and _read(body, found) == _read(body, expected)
            results.add(f"{file.name} {number}", expected, expected if is_same else found)
    folder = open_source(WPT) / "html/syntax/charset"
    for name in _LISTED.findall((folder / "xhr.html").read_text()):
        results.add(f"wpt {name}", *_compared(folder / name))
    return results.report(asked=SHARE_ASKED)


def _compared(file: Path) -> tuple[bool, bool]:
    body = file.read_bytes()
    text = _read(body, detect_charset(body, "text/html"))
    return b'rel="match"' in body, "Test: \u0436<" in text


def _read(body: bytes, codec: str) -> str:
    return body.decode(codec, errors="replace").removeprefix("\ufeff")


if __name__ == "__main__":
    sys.exit(main())
