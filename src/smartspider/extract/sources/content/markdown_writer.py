"""Convert elements to Markdown in one walk over the tree."""

from __future__ import annotations

import re
from collections.abc import Callable

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.content import markdown_text as md
from smartspider.extract.sources.content.main_content import NEVER, is_hidden, is_navigation
from smartspider.extract.sources.tables import GridRow, TableBudget, build_grid
from smartspider.extract.sources.values import to_absolute_url

_MOST_NODES = 300_000
_DEEPEST = 100
_DEEPEST_INDENT = 8
_WIDEST_TABLE = 50
_MOST_CELLS = 100_000
_MOST_CHARACTERS = 10_000_000
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark meter nobr "
    "output picture progress q rp rt ruby s samp small source span strike strong sub sup time tt u var "
    "wbr".split()
)
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "cite": "*", "del": "~~", "s": "~~", "strike": "~~"}
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_LANGUAGE = re.compile(r"(?:^|\s)(?:language-|lang-|highlight-(?:source-)?|brush:\s*)([\w+#.-]{1,30})")
_Blocks = Callable[[LexborNode, int], list[str]]
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


class MarkdownWriter:
    """Converts one page. Beyond a depth only text is kept; beyond a number of nodes nothing is."""

    def __init__(self, base: str, *, skips_navigation: bool) -> None:
        self._base = base
        self._skips_navigation = skips_navigation
        self._left = _MOST_NODES
        self._budget = TableBudget(_MOST_CELLS, _MOST_CHARACTERS)
        self._indents = 0
        self._holders: set[int] = set()
        self._blocks_of: dict[str, _Blocks] = dict.fromkeys(_HEADINGS, self._heading)
        self._blocks_of |= {
            "pre": self._pre,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "blockquote": self._quote,
            "table": self._table,
            "dt": self._term,
            "a": self._block_link,
        }

    def write(self, node: LexborNode) -> str:
        """Return the element as Markdown, blocks separated by empty lines."""
        self._holders = _block_holders(node)
        return "\n\n".join(self._blocks(node, 0))

    def _blocks(self, node: LexborNode, depth: int) -> list[str]:
        if depth > _DEEPEST:
            text = md.paragraph(md.escape(node.text()))
            return [text] if text else []
        blocks: list[str] = []
        line: list[str] = []
        for child in node.iter(include_text=True):
            self._left -= 1
            if self._left < 0:
                break
            tag = child.tag or ""
            if tag == "-text":
                line.append(md.escape(child.text_content or ""))
            elif tag == "hr":
                _end_line(line, blocks)
                blocks.append("---")
            elif self._is_left_out(child, tag):
                continue
            elif tag in _INLINE and child.mem_id not in self._holders:
                line.append(self._inline_of(child, tag, depth + 1))
            else:
                _end_line(line, blocks)
                blocks += self._blocks_of.get(tag, self._blocks)(child, depth + 1)
        _end_line(line, blocks)
        return blocks

    def _is_left_out(self, node: LexborNode, tag: str) -> bool:
        if tag in NEVER or tag[:1] in {"-", "!"}:
            return True
        if is_hidden(node):
            return True
        return self._skips_navigation and tag not in _INLINE and is_navigation(node, tag)

    def _inline(self, node: LexborNode, depth: int) -> str:
        """Return everything in an element on one line, including blocks."""
        if depth > _DEEPEST:
            return md.escape(node.text())
        parts: list[str] = []
        for child in node.iter(include_text=True):
            self._left -= 1
            if self._left < 0:
                break
            tag = child.tag or ""
            if tag == "-text":
                parts.append(md.escape(child.text_content or ""))
            elif self._is_left_out(child, tag):
                continue
            elif tag in _INLINE:
                parts.append(self._inline_of(child, tag, depth + 1))
            else:
                parts.append(f" {self._inline(child, depth + 1)} ")
        return "".join(parts)

    def _inline_of(self, node: LexborNode, tag: str, depth: int) -> str:
        if tag == "br":
            return "\n"
        if tag == "img":
            return self._image(node)
        if tag in _CODE:
            text = node.text()
            code = md.code_span(text)
            return f" {code} " if text[:1].isspace() and code else code
        inner = self._inline(node, depth)
        if tag == "a":
            url = self._address(node.attributes.get("href"))
            return md.link(inner, url) if url is not None else inner
        if tag == "q":
            return f"\u201c{inner}\u201d"
        mark = _MARKS.get(tag)
        return md.emphasis(mark, inner) if mark is not None and mark not in inner else inner

    def _address(self, href: str | None) -> str | None:
        return to_absolute_url(href, self._base) if href and not href.lstrip().startswith("#") else None

    def _image(self, node: LexborNode) -> str:
        attributes = node.attributes
        for name in ("src", "data-src", "data-original"):
            url = to_absolute_url(attributes.get(name), self._base)
            if url is not None:
                alt = collapse(attributes.get("alt") or "").replace("[", "(").replace("]", ")")
                return f"![{alt}]({md.link_target(url)})"
        return ""

    def _heading(self, node: LexborNode, depth: int) -> list[str]:
        text = md.one_line(self._inline(node, depth))
        return [f"{_HEADINGS[node.tag or 'h1']} {text}"] if text else []

    def _term(self, node: LexborNode, depth: int) -> list[str]:
        text = md.one_line(self._inline(node, depth))
        return [md.emphasis("**", text) if "**" not in text else text] if text else []

    def _pre(self, node: LexborNode, _: int) -> list[str]:
        text = "".join(
            "\n" if inner.tag == "br" else inner.text_content or ""
            for inner in node.traverse(include_text=True)
        )
        if not text.strip():
            return []
        inner = node.css_first("code")
        names = " ".join(
            each.attributes.get("class") or "" for each in (node, inner, node.parent) if each is not None
        )
        found = _LANGUAGE.search(names)
        return [md.code_block(text, found[1] if found is not None and found[1] != "default" else "")]

    def _quote(self, node: LexborNode, depth: int) -> list[str]:
        if self._indents >= _DEEPEST_INDENT:
            return self._blocks(node, depth)
        self._indents += 1
        inner = "\n\n".join(self._blocks(node, depth))
        self._indents -= 1
        return [md.quotation(inner)] if inner else []

    def _list(self, node: LexborNode, depth: int) -> list[str]:
        if self._indents >= _DEEPEST_INDENT:
            return self._blocks(node, depth)
        self._indents += 1
        entries: list[str] = []
        number = _start(node)
        for child in node.iter():
            tag = child.tag or ""
            if self._is_left_out(child, tag):
                continue
            marker = f"{number}. " if node.tag == "ol" else "- "
            blocks = self._blocks(child, depth + 1) if tag == "li" else self._non_entry(child, tag, depth + 1)
            if blocks:
                entries.append(_entry(marker, blocks))
                number += 1
        self._indents -= 1
        is_loose = any("\n\n" in entry for entry in entries)
        return [("\n\n" if is_loose else "\n").join(entries)] if entries else []

    def _non_entry(self, node: LexborNode, tag: str, depth: int) -> list[str]:
        """Convert content of a list that is not an entry, such as a nested list."""
        return self._blocks_of.get(tag, self._blocks)(node, depth)

    def _block_link(self, node: LexborNode, depth: int) -> list[str]:
        """Convert a link around blocks: its first text becomes the link."""
        blocks = self._blocks(node, depth)
        url = self._address(node.attributes.get("href"))
        if url is None:
            return blocks
        for place, block in enumerate(blocks):
            mark, gap, text = block.partition(" ") if block.startswith("#") else ("", "", block)
            if text and "\n" not in text and not text.startswith("!["):
                blocks[place] = f"{mark}{gap}{md.link(text, url)}"
                return blocks
        return blocks

    def _table(self, node: LexborNode, depth: int) -> list[str]:
        if self._budget.is_full or node.css_first(
            "table table, td pre, td ul, td ol, td p + p, td div + div"
        ):
            return self._blocks(node, depth)
        grid = build_grid(node, lambda cell: md.one_line(self._inline(cell, depth + 3)), self._budget)
        width = max((len(row.cells) for row in grid), default=0)
        if width < 2 or width > _WIDEST_TABLE:
            return self._blocks(node, depth)
        caption = next((child for child in node.iter() if child.tag == "caption"), None)
        title = md.paragraph(self._inline(caption, depth)) if caption is not None else ""
        return ([title] if title else []) + ["\n".join(_table_lines(grid, width))]


def _end_line(line: list[str], blocks: list[str]) -> None:
    if line:
        text = md.paragraph("".join(line))
        if text:
            blocks.append(text)
        line.clear()


def _block_holders(top: LexborNode) -> set[int]:
    """Return the ids of inline elements that contain a block."""
    holders: set[int] = set()
    for node in top.traverse():
        if node.tag in _INLINE or node.tag in NEVER:
            continue
        parent = node.parent
        while parent is not None and parent.tag in _INLINE and parent.mem_id not in holders:
            holders.add(parent.mem_id)
            parent = parent.parent
    return holders


def _start(node: LexborNode) -> int:
    text = (node.attributes.get("start") or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def _entry(marker: str, blocks: list[str]) -> str:
    text = blocks[0]
    for block in blocks[1:]:
        is_list = block.startswith(("- ", "1. "))
        text += ("\n" if is_list else "\n\n") + block
    return marker + md.indent(text, len(marker))


def _table_lines(grid: list[GridRow], width: int) -> list[str]:
    first = grid[0]
    is_headed = first.is_head or all(cell is None or cell.is_header or not cell.text for cell in first.cells)
    lines = [] if is_headed else ["|" + "   |" * width, "|" + " --- |" * width]
    for row in grid:
        texts = [cell.text.replace("|", "\\|") if cell is not None else "" for cell in row.cells]
        lines.append(f"| {' | '.join(texts + [''] * (width - len(texts)))} |")
        if len(lines) == 1:
            lines.append("|" + " --- |" * width)
    return lines
