"""Pages to compare on: real documentation, and broken pages made from a seed."""

from __future__ import annotations

import random
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / ".cache" / "docs"
LARGEST = 120_000


def documentation_pages(count: int) -> list[Path]:
    """So many pages of the documentation packages, the same ones every time, each package with its share."""
    subprocess.run([sys.executable, str(ROOT / "scripts" / "docs_pages.py"), str(DOCS)], check=True)
    packages = sorted(folder for folder in DOCS.iterdir() if folder.is_dir())
    chosen: list[Path] = []
    for left, folder in enumerate(reversed(packages)):
        share = (count - len(chosen)) // (len(packages) - left)
        found = [
            path
            for path in folder.rglob("*.html*")
            if path.suffix != ".gz" and path.is_file() and 500 < path.stat().st_size < LARGEST
        ]
        found.sort(key=lambda path: sha256(str(path.relative_to(folder)).encode()).digest())
        chosen += found[:share]
    return chosen


_TAGS = (
    "div span p a b i em strong ul ol li table tr td th tbody h1 h2 section article pre img br hr input form "
    "select option dl dt dd script style title noscript template svg iframe textarea center font"
).split()
_CLASSES = ("a", "b", "card", "price", "x-y", "long_name", "中文")
_TEXTS = (
    "text", " spaced  out ", "\n\t", "é&nbsp;ü", "5 &lt; 6 &amp; 7 > 3", "&copy;&notit;&#x41;&#0;",
    "中文文本", "a\u200bb", "'q' \"d\"", "< ", "</ >", "<3 ", "&", "\u2028", "]]>", "<!-- c -->",
    "<!doctype x>", "a\rb",
)  # fmt: skip
_VALUES = ("", "x", "a b", "/p?q=1&r=2", "http://h/é ü", "it's", 'say "hi"', "a<b>c", " lead", "#f", "中")


def broken_page(seed: int) -> str:
    """A page with unclosed, crossing and misplaced tags, odd attributes and odd text."""
    chance = random.Random(seed)
    parts = ["<!DOCTYPE html>"] if chance.random() < 0.5 else []
    parts += ["<html><head><title>t</title></head><body>"] if chance.random() < 0.6 else []
    opened: list[str] = []
    for _ in range(chance.randrange(5, 60)):
        kind = chance.random()
        if kind < 0.45:
            tag = chance.choice(_TAGS)
            parts.append(f"<{tag}{_attributes(chance)}>")
            opened.append(tag)
        elif kind < 0.7 and opened:
            tag = opened.pop(chance.randrange(len(opened)) if chance.random() < 0.15 else -1)
            parts.append(f"</{tag}>")
        else:
            parts.append(chance.choice(_TEXTS))
    if chance.random() < 0.7:
        parts += [f"</{tag}>" for tag in reversed(opened)]
    return "".join(parts)


def _attributes(chance: random.Random) -> str:
    text = ""
    for _ in range(chance.randrange(3)):
        name = chance.choice(("class", "id", "href", "title", "data-x", "disabled", "src", "name"))
        value = chance.choice(_CLASSES) if name == "class" else chance.choice(_VALUES)
        quote = "'" if '"' in value else '"'
        text += f" {name}={quote}{value}{quote}" if chance.random() < 0.9 else f" {name}"
    return text
