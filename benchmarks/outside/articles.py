"""The text of articles: the source `article` beside trafilatura, on the article extraction benchmark.

    python -m benchmarks.outside.articles

Both read the same 181 news pages; the F1 score over shingles of four words is that of the benchmark's own
`evaluate.py`. Needs the extra `text`. Our figure must not be below trafilatura's.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import trafilatura
from benchmarks.outside.sources import open_source

from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source

SOURCE = "github:scrapinghub/article-extraction-benchmark@4a3bc979f76c0df73cb95fe272e2fc1b96f9f010"
URL = "https://news.example/article"
_WORSE_BY = 0.05


def main() -> int:
    """Print both figures and the pages that we read worse; return 1 below trafilatura's figure."""
    folder = open_source(SOURCE)
    truth = json.loads((folder / "ground-truth.json").read_text())
    evaluation = load_evaluation(folder)
    scores: dict[str, list[tuple[float, float, float]]] = {"ours": [], "trafilatura": []}
    worse = []
    for key, expected in sorted(truth.items()):
        html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes())
        texts = {"ours": read_text(html), "trafilatura": trafilatura_text(html)}
        for name, text in texts.items():
            found = evaluation.string_shingle_matching(true=expected.get("articleBody", ""), pred=text)
            scores[name].append(found)
        ours, theirs = scores["ours"][-1][0], scores["trafilatura"][-1][0]
        if ours < theirs - _WORSE_BY:
            worse.append(f"  {key[:12]}: {ours:.3f} of trafilatura's {theirs:.3f}")
    figures = {name: evaluation.metrics_from_tp_fp_fns(found)["f1"] for name, found in scores.items()}
    print(
        f"articles: F1 {figures['ours']:.4f} on {len(truth)} pages (trafilatura {figures['trafilatura']:.4f})"
    )
    for line in worse:
        print(line)
    return 0 if figures["ours"] >= figures["trafilatura"] else 1


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
