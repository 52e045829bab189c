"""Serialize an element of Lexbor's tree as libxml2 would, so that raw values equal parsel's.

Lexbor's own serializer follows the HTML standard, which writes entities, quotes and links differently.
"""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborNode

_VOID = frozenset("area base basefont br col frame hr img input isindex link meta param".split())
_NO_END_WHEN_EMPTY = frozenset({"li"})
_UNESCAPED = frozenset({"script", "style"})
_BOOLEAN = frozenset(
    "checked compact declare defer disabled ismap multiple nohref noresize noshade nowrap readonly "
    "selected".split()
)
_LINKS = frozenset({"href", "src", "action"})
_BLANKS = " \t\n\r"
_UNSAFE = re.compile(r"""[^A-Za-z0-9\-_.!~*'()"#$%&+,/:;<=>?@\[\\\]^`{|}]""")
"""Characters that libxml2 percent-encodes in a link."""
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def outer_html(node: LexborNode, hidden: str) -> str:
    """Serialize the element without the attribute `hidden`."""
    parts: list[str] = []
    stack: list[tuple[LexborNode | None, str]] = [(node, "")]
    while stack:
        current, text = stack.pop()
        if current is None:
            parts.append(text)
            continue
        if current.is_comment_node:
            parts.append(current.html or "")
        elif current.is_text_node:
            parts.append(text or (current.text_content or "").translate(_TEXT))
        elif current.is_element_node:
            _open(current, hidden, parts, stack)
        else:
            parts.append(_instruction(current))
    return "".join(parts)


def _open(
    node: LexborNode, hidden: str, parts: list[str], stack: list[tuple[LexborNode | None, str]]
) -> None:
    tag = node.tag or ""
    parts.append(f"<{tag}{_attributes(node.attributes, hidden, tag)}>")
    if tag in _VOID:
        return
    if node.first_child is not None or tag not in _NO_END_WHEN_EMPTY:
        stack.append((None, f"</{tag}>"))
    if tag == "template" and node.first_child is None:
        parts.append(node.inner_html or "")  # its content is a document of its own, which is not walked
        return
    is_raw = tag in _UNESCAPED
    children = [(child, child.text_content or "" if is_raw else "") for child in node.iter(include_text=True)]
    stack.extend(reversed(children))


def _attributes(attributes: dict[str, str | None], hidden: str, tag: str) -> str:
    return "".join(
        f" {name}" + _value(name, value, tag) for name, value in attributes.items() if name != hidden
    )


def _value(name: str, value: str | None, tag: str) -> str:
    if value is None or name in _BOOLEAN:
        return ""
    if name in _LINKS or (name == "name" and tag == "a"):
        value = _UNSAFE.sub(_percent, value.lstrip(_BLANKS))
    text = value.translate(_TEXT)
    if '"' not in text:
        return f'="{text}"'
    return f"='{text}'" if "'" not in text else '="' + text.replace('"', "&quot;") + '"'


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace"))


def _instruction(node: Any) -> str:
    """Serialize `<?pi x?>`, which the HTML parser of libxml2 reads as a comment."""
    html = node.html or ""
    return f"<!--{html[1:-1]}-->" if html.startswith("<?") else html
