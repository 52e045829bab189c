"""Files that are compressed while they are written, by a further suffix of their name."""

from __future__ import annotations

from pathlib import Path
from typing import IO, cast

COMPRESSIONS = ("gz", "zst", "bz2", "xz")
"""Suffixes that say how a file is compressed."""


def compression_of(path: Path) -> str | None:
    """The compression a name asks for."""
    suffix = path.suffix.removeprefix(".").lower()
    return suffix if suffix in COMPRESSIONS else None


def compressor(name: str, stream: IO[bytes]) -> IO[bytes]:
    """A stream that compresses into another one, which stays open when this one is closed."""
    match name:
        case "gz":
            import gzip

            return cast("IO[bytes]", gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0))
        case "bz2":
            import bz2

            return bz2.BZ2File(stream, "wb")
        case "xz":
            import lzma

            return lzma.LZMAFile(stream, "wb", preset=3)  # higher ones take up to 700 MB
        case _:
            return _zstd(stream)


def _zstd(stream: IO[bytes]) -> IO[bytes]:
    try:
        from compression.zstd import ZstdFile  # type: ignore[import-not-found,unused-ignore] # Python 3.14
    except ImportError:
        from backports.zstd import ZstdFile
    made: IO[bytes] = ZstdFile(stream, "wb")
    return made
