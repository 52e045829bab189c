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
