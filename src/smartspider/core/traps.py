"""Guards against sites that never end."""

from __future__ import annotations

import msgspec


class TrapGuards(msgspec.Struct, frozen=True):
    """Bounds that an honest site does not reach."""

    max_url_length: int = 2048
    max_path_segments: int = 32
    max_repeats: int = 4
    """Times the same path segment may stand in one URL."""
    max_urls_per_host: int | None = None
    max_links_per_page: int = 50_000

    def refusal(self, normal: str) -> str | None:
        """Why a URL looks like a trap, or None."""
        if len(normal) > self.max_url_length:
            return f"trap: the URL is longer than {self.max_url_length} characters"
        path = normal.partition("?")[0]
        count = path.count("/") - 2
        if count <= self.max_repeats:
            return None
        if count > self.max_path_segments:
            return f"trap: the path has more than {self.max_path_segments} segments"
        segments = [segment for segment in path.split("/")[3:] if segment]
        for segment in set(segments):
            if segments.count(segment) > self.max_repeats:
                return f"trap: the path repeats {segment!r} more than {self.max_repeats} times"
        return None
