"""Markdown syntax: escaping, emphasis, links, fences."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\`*]|(?<!\w)_|_(?!\w)|<(?=[a-zA-Z/!?])|\](?=\()")
_LINE_START = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|={3,}|-{3,}|~{3,})")
_SPACES = re.compile(r"[ \t\r\f\v\n\u2028\u2029]+")
_BREAKS = re.compile(r" *\n[ \n]*")
_TICKS = re.compile(r"`+")


def escape(text: str) -> str:
    """Escape text, with whitespace collapsed but not trimmed."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], _SPACES.sub(" ", text))


def paragraph(inline: str) -> str:
    """Format inline Markdown as a block: trimmed, breaks kept, no line that starts another kind of block."""
    lines = _BREAKS.split(re.sub(r" {2,}", " ", inline).strip(" \n"))
    return "  \n".join(_plain_start(line) for line in lines)


def one_line(inline: str) -> str:
    """Format inline Markdown on one line, for headings and cells."""
    return re.sub(r"\s+", " ", inline).strip()


def _plain_start(line: str) -> str:
    found = _LINE_START.match(line)
    if found is None:
        return line
    end = found.end()
    return f"{line[:end]}\\{line[end:]}" if line[0].isdigit() else "\\" + line


def emphasis(mark: str, inline: str) -> str:
    """Wrap text in a mark: `**bold**`, with spaces outside the marks."""
    core = inline.strip()
    if not core or "\n" in core:
        return inline
    start = inline.index(core)
    return f"{inline[:start]}{mark}{core}{mark}{inline[start + len(core) :]}"


def code_span(text: str) -> str:
    """Format inline code, with as many backticks as needed."""
    text = one_line(text)
    if not text:
        return ""
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (1 + max(len(run) for run in _TICKS.findall(text)))
    return f"{ticks} {text} {ticks}"


def code_block(text: str, language: str) -> str:
    """Format a block of code."""
    text = text.strip("\n").rstrip()
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def link(inline: str, url: str) -> str:
    """Format a link, with spaces around its text outside."""
    core = one_line(inline)
    if not core:
        return inline
    before = " " if inline[:1].isspace() else ""
    after = " " if inline[-1:].isspace() else ""
    return f"{before}[{core}]({link_target(url)}){after}"


def link_target(url: str) -> str:
    """Escape a URL for a link."""
    return f"<{url}>" if "(" in url or ")" in url else url


def indent(block: str, by: int) -> str:
    """Indent a block as the continuation of a list entry."""
    return block.replace("\n", "\n" + " " * by).replace("\n" + " " * by + "\n", "\n\n")


def quotation(block: str) -> str:
    """Format a block as a quotation."""
    return "> " + block.replace("\n", "\n> ").replace("> \n", ">\n")
