"""Refusals: why a link becomes no request, or a request is closed without being stored."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

RefusalCode = Literal[
    "robots",
    "nofollow",
    "scope_host",
    "scope_allow",
    "scope_deny",
    "depth",
    "trap",
    "not_http",
    "limit",
    "stop_when",
    "repeated",
    "recrawl",
    "private_address",
    "host_held",
    "run_ended",
    "other",
]
"""Stable codes, for programs."""

REFUSAL_CODES: tuple[RefusalCode, ...] = get_args(RefusalCode)

EXPECTED: frozenset[RefusalCode] = frozenset({"limit", "stop_when", "repeated", "recrawl", "run_ended"})
"""Codes of next pages that the task itself asks to leave out, or behind the end of a list: they cut nothing
short.
"""


_BY_NAME: dict[str, RefusalCode] = {code: code for code in REFUSAL_CODES}


def refusal_code(cause: str | None) -> RefusalCode:
    """Return the cause of a skipped request as a refusal: `other` if it is none."""
    return _BY_NAME.get(cause or "", "other")


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """A code, and the rule behind it in words: `scope: host o.example is not in the task's scope`."""

    code: RefusalCode
    detail: str


class LeftOutLink(msgspec.Struct, frozen=True, gc=False):
    """A link that became no request. `fingerprint` is the identity that the request would have."""

    fingerprint: bytes
    url: str
    refusal: Refusal
    is_next_page: bool = False
