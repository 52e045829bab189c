"""A page: what came back for a request."""

from __future__ import annotations

import msgspec


class Page(msgspec.Struct, frozen=True):
    """An answer with a body. `body` is as the server sent it, unpacked; `charset` says how to read it."""

    url: str
    status: int
    headers: dict[str, str]
    """Names in lower case; repeated headers joined by a comma and a space."""
    body: bytes
    charset: str
    fetched_at: float
    elapsed_s: float = 0.0
    hops: tuple[str, ...] = ()
    """The URLs that redirected here, the requested one first; empty when nothing redirected."""

    @property
    def text(self) -> str:
        """The body as text; what cannot be decoded becomes U+FFFD."""
        return self.body.decode(self.charset, errors="replace")

    @property
    def media_type(self) -> str:
        """`text/html` of `Content-Type: text/html; charset=utf-8`; empty when the server sent none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()
