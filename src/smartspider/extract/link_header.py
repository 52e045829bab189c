"""The Link header (RFC 8288), as far as it says where a list goes on."""

from __future__ import annotations

import re

_LONGEST = 65_536
_BETWEEN = re.compile(r"[\s,]*")
_LINK = re.compile(r"<([^<>]*)>")
_PARAM = re.compile(r"""\s*;\s*([^\s=;,"]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?""")
_ESCAPE = re.compile(r"\\(.)")
_TO_COMMA = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|[^,"])*(?:,|$|")""")


def next_target(header: str) -> str | None:
    """The target of the first `rel=next` link of the page itself, or None. Several headers may be joined by
    commas; what is not in the form of a link is passed over.
    """
    at, end = 0, min(len(header), _LONGEST)
    while at < end:
        at = _end(_BETWEEN, header, at, end)
        link = _LINK.match(header, at, end)
        if link is None:
            at = max(_end(_TO_COMMA, header, at, end), at + 1)
            continue
        at = link.end()
        params: dict[str, str] = {}
        while (param := _PARAM.match(header, at, end)) is not None:
            at = param.end()
            quoted, plain = param[2], param[3]
            value = plain or "" if quoted is None else _ESCAPE.sub(r"\1", quoted)
            params.setdefault(param[1].lower(), value)
        if "next" in params.get("rel", "").lower().split() and "anchor" not in params:
            return link[1].strip()
    return None


def _end(pattern: re.Pattern[str], header: str, at: int, end: int) -> int:
    found = pattern.match(header, at, end)
    return at if found is None else found.end()
