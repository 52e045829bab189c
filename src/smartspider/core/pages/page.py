"""A page: the response to a request."""

from __future__ import annotations

import msgspec


class Page(msgspec.Struct, frozen=True):
    """A response with its body, which is decompressed but not decoded; `charset` decodes it."""

    url: str
    status: int
    headers: dict[str, str]
    """Names in lower case; repeated headers joined by a comma and a space."""
    body: bytes
    charset: str
    fetched_at: float
    elapsed_s: float = 0.0
    hops: tuple[str, ...] = ()
    """The URLs that redirected here, the requested one first; empty without redirects."""

    @property
    def text(self) -> str:
        """The decoded body; undecodable bytes become U+FFFD."""
        return self.body.decode(self.charset, errors="replace")

    @property
    def media_type(self) -> str:
        """`text/html` for `Content-Type: text/html; charset=utf-8`; empty without the header."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()
