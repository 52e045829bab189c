"""Compression of output files, selected by a second suffix such as `.gz`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, cast

COMPRESSIONS = {
    "gz": "application/gzip",
    "zst": "application/zstd",
    "bz2": "application/x-bzip2",
    "xz": "application/x-xz",
}
"""The media types of compressed files, by suffix."""


def compression_of(path: Path) -> str | None:
    """Return the compression that a file name selects."""
    suffix = path.suffix.removeprefix(".").lower()
    return suffix if suffix in COMPRESSIONS else None


def compressor(name: str, stream: IO[bytes]) -> IO[bytes]:
    """Open a stream that compresses into another one. Closing it leaves the other one open."""
    match name:
        case "gz":
            import gzip

            return cast("IO[bytes]", gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0))
        case "bz2":
            import bz2

            return bz2.BZ2File(stream, "wb")
        case "xz":
            import lzma

            return lzma.LZMAFile(stream, "wb", preset=3)  # higher presets take up to 700 MB
        case _:
            return _zstd(stream)


def _zstd(stream: IO[bytes]) -> IO[bytes]:
    try:
        from compression.zstd import ZstdFile  # type: ignore[import-not-found,unused-ignore] # Python 3.14
    except ImportError:
        from backports.zstd import ZstdFile
    made: IO[bytes] = ZstdFile(stream, "wb")
    return made
