"""The text of articles: the source `article` beside trafilatura, on pages with a known text.

    python -m benchmarks.outside.articles

Two sets of pages: the 181 of the article extraction benchmark, and the 130 of Readability's tests, where the
text is that of the expected HTML. The F1 score is that of the benchmark's own `evaluate.py`: over shingles of
four words. Needs the extra `text`. Our figures must not be below trafilatura's.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trafilatura
from benchmarks.outside.sources import open_source
from selectolax.lexbor import LexborHTMLParser

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source

NEWS = "github:scrapinghub/article-extraction-benchmark@4a3bc979f76c0df73cb95fe272e2fc1b96f9f010"
READABILITY = "github:mozilla/readability@ab4027a8b37669745016869a37a504727992b2ba"
URL = "https://news.example/article"
_WORSE_BY = 0.05


def main() -> int:
    """Print the figures and the pages that we read worse; return 1 below a figure of trafilatura."""
    evaluation = load_evaluation(open_source(NEWS))
    is_below = False
    for name, pages in (("news", news_pages()), ("readability", readability_pages())):
        ours: list[tuple[float, float, float]] = []
        theirs: list[tuple[float, float, float]] = []
        worse = []
        for key, html, expected in pages:
            ours.append(evaluation.string_shingle_matching(true=expected, pred=read_text(html)))
            theirs.append(evaluation.string_shingle_matching(true=expected, pred=trafilatura_text(html)))
            if ours[-1][0] < theirs[-1][0] - _WORSE_BY:
                worse.append(f"  {key}: {ours[-1][0]:.3f} of trafilatura's {theirs[-1][0]:.3f}")
        figure, asked = (evaluation.metrics_from_tp_fp_fns(found)["f1"] for found in (ours, theirs))
        print(f"articles, {name}: F1 {figure:.4f} on {len(ours)} pages (trafilatura {asked:.4f})")
        for line in worse:
            print(line)
        is_below = is_below or figure < asked
    return int(is_below)


def news_pages() -> Iterator[tuple[str, bytes, str]]:
    """Yield the name, the page and the text of each article of the benchmark."""
    folder = open_source(NEWS)
    for key, truth in sorted(json.loads((folder / "ground-truth.json").read_text()).items()):
        html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes())
        yield key[:12], html, truth.get("articleBody", "")


def readability_pages() -> Iterator[tuple[str, bytes, str]]:
    """Yield the name, the page and the text of each page of Readability's tests."""
    for folder in sorted((open_source(READABILITY) / "test" / "test-pages").iterdir()):
        body = LexborHTMLParser((folder / "expected.html").read_bytes()).body
        text = body.text(separator=" ") if body is not None else ""
        yield folder.name, (folder / "source.html").read_bytes(), text


def load_evaluation(folder: Path) -> Any:
    """Return the module with the metric of the benchmark."""
    spec = importlib.util.spec_from_file_location("article_evaluation", folder / "evaluate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_text(html: bytes) -> str:
    """Return the text of the source `article`."""
    page = Page(URL, 200, {"content-type": "text/html; charset=utf-8"}, html, "utf-8", 0.0)
    article = read_source("article", Document(page, make_request(URL)))
    return (article or {}).get("text") or ""


def trafilatura_text(html: bytes) -> str:
    """Return the text that trafilatura extracts by itself."""
    return trafilatura.extract(html.decode(errors="replace"), include_comments=False) or ""


if __name__ == "__main__":
    sys.exit(main())
