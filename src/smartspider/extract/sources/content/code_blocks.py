"""Code blocks of a page in the one form that the extraction of articles keeps: `<pre><code>`."""

from __future__ import annotations

from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

_WRAPPERS = frozenset({"div", "figure", "table", "tbody", "tr", "td", "span"})
"""Elements that highlighters put around code: frames, toolbars, tables with line numbers."""
_OWN_CONTENT = "p, li, dt, dd, h1, h2, h3, h4, h5, h6, figcaption, article, section, img"
_LONGEST_LABEL = 30
"""Characters beside the code in a frame: a language, the word Copy."""
_LINES = frozenset({"div", "p", "li"})
_MOST_BLOCKS = 1_000


def plain_code_blocks(html: str) -> str:
    """Return the page with every `pre` as `<pre><code>`, out of its frame and without line numbers."""
    root = LexborHTMLParser(html).root if "<pre" in html.lower() else None
    if root is None:
        return html
    shared: set[int] = set()
    for block in root.css("pre")[:_MOST_BLOCKS]:
        text = code_text(block)
        if not text.strip() or _is_numbers(block):
            continue
        frame = _frame_of(block, text, shared)
        code = LexborHTMLParser(f"<pre><code>{escape(text)}</code></pre>").css_first("pre")
        if code is not None:
            frame.replace_with(code)
    return root.html or html


def code_text(node: LexborNode) -> str:
    """Return the text of a code block with its line breaks, also those made by elements."""
    parts: list[str] = []
    for inner in node.traverse(include_text=True):
        is_new_line = inner.tag in _LINES and parts and not parts[-1].endswith("\n")
        if inner.tag == "br" or is_new_line:
            parts.append("\n")
        else:
            parts.append(inner.text_content or "")
    return "".join(parts)


def _is_numbers(block: LexborNode) -> bool:
    """Return True for the line numbers beside a block."""
    parent = block.parent
    return parent is not None and parent.tag == "td" and all(map(str.isdigit, block.text().split()))


def _frame_of(block: LexborNode, text: str, shared: set[int]) -> LexborNode:
    """Return the outermost element that holds nothing but the block, its line numbers and a label. `shared`
    are the ids of elements that are known to hold more, so that none is searched for each of its blocks.
    """
    frame, length = block, _letters(text)
    while (parent := frame.parent) is not None and parent.tag in _WRAPPERS and parent.mem_id not in shared:
        codes = sum(not _is_numbers(each) for each in parent.css("pre")[:_MOST_BLOCKS])
        is_shared = codes > 1 or parent.css_first(_OWN_CONTENT) is not None
        if is_shared or _letters(parent.text(separator=" ")) > length + _LONGEST_LABEL:
            shared.add(parent.mem_id)
            break
        frame = parent
    return frame


def _letters(text: str) -> int:
    """Return the number of characters that are neither spaces nor numbers."""
    return sum(len(word) for word in text.split() if not word.isdigit())
