from __future__ import annotations

import asyncio
import gzip
import resource
import zlib
from collections.abc import Iterator
from typing import Any

import brotli  # type: ignore[import-untyped] # the library ships no types
import pytest
from backports import zstd

from smartspider.core.errors import BadEncoding, TooLarge
from smartspider.core.runs.plan import FetchPlan

TEXT = b"".join(b"<p>%d and so on</p>" % number for number in range(5000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT),
    "GZIP": gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]),
    "deflate": zlib.compress(TEXT),
    "Deflate": raw_deflate(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstd.compress(TEXT),
    "ZSTD": zstd.compress(TEXT[:100]) + zstd.compress(TEXT[100:]),
    "br, gzip": gzip.compress(brotli.compress(TEXT)),
    "identity": TEXT,
    "utf-8": TEXT,
}


async def fetch(net: Any, body: bytes, encoding: str, plan: FetchPlan = FetchPlan()) -> bytes:
    answer = net.http(body, Content_Encoding=encoding)
    async with net.serve(answer) as server, net.transport(plan) as transport:
        page = await transport.fetch(net.exchange(net.asks(server.url)))
        return bytes(page.body)


@pytest.mark.parametrize("encoding", PACKED)
async def test_compressed_bodies_are_decompressed(net: Any, encoding: str) -> None:
    assert await fetch(net, PACKED[encoding], encoding) == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "Deflate", "br", "zstd"])
async def test_bodies_that_come_byte_by_byte_are_decompressed(net: Any, encoding: str) -> None:
    compressed = PACKED[encoding][:]

    async def drip(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n" % encoding.encode())
        for start in range(10):
            writer.write(compressed[start : start + 1])
            await writer.drain()
            await asyncio.sleep(0.001)
        writer.write(compressed[10:])
        writer.close()

    async with net.serve(drip) as server, net.transport() as transport:
        assert (await transport.fetch(net.exchange(net.asks(server.url)))).body == TEXT


async def test_padding_after_a_gzip_body_is_ignored(net: Any) -> None:
    assert await fetch(net, gzip.compress(TEXT) + b"\0\0\0\0", "gzip") == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_an_empty_packed_body_is_an_empty_page(net: Any, encoding: str) -> None:
    assert await fetch(net, b"", encoding) == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_broken_packed_body_is_said_to_be_broken(net: Any, encoding: str) -> None:
    compressed = PACKED[encoding]
    broken = compressed[:40] + bytes(byte ^ 0xFF for byte in compressed[40:])
    with pytest.raises(BadEncoding):
        await fetch(net, broken, encoding)


LONG = b"".join(b"<p>%d and so on</p>" % (number * number) for number in range(100_000))
PACKERS: dict[str, Any] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": lambda data: brotli.compress(data, quality=1),
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
async def test_a_packed_body_that_ends_early_yields_what_came(net: Any, encoding: str) -> None:
    packed = PACKERS[encoding](LONG)
    for cut in (len(packed) * 3 // 4, len(packed) - 20, len(packed) - 1):
        body = await fetch(net, packed[:cut], encoding)
        assert LONG.startswith(body)
        assert len(body) > len(LONG) // 2


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_packed_body_that_ends_before_its_text_is_an_error(net: Any, encoding: str) -> None:
    with pytest.raises(BadEncoding):
        await fetch(net, PACKED[encoding][:3], encoding)


@pytest.mark.parametrize("damaged", [slice(-8, -4), slice(-4, None)], ids=["checksum", "length"])
async def test_a_wrong_checksum_does_not_cost_the_text(net: Any, damaged: slice) -> None:
    packed = bytearray(gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]))
    packed[damaged] = b"\0\0\0\0"
    assert await fetch(net, bytes(packed), "gzip") == TEXT
    deflated = zlib.compress(TEXT)[:-4] + b"\0\0\0\0"
    assert await fetch(net, deflated, "deflate") == TEXT


def gzip_with_header(flags: int, fields: bytes) -> bytes:
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0" * 6 + fields + raw_deflate(TEXT) + b"\0" * 8


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        (4, b"\x03\0abc"),
        (8, b"file.html\0"),
        (16, b"a comment\0"),
        (2, b"xx"),
        (31, b"\x02\0abfile\0comment\0xx"),
    ],
    ids=["extra", "name", "comment", "checksum", "all"],
)
async def test_all_parts_of_a_gzip_header_are_skipped(net: Any, flags: int, fields: bytes) -> None:
    assert await fetch(net, gzip_with_header(flags, fields), "gzip") == TEXT


async def test_text_that_claims_to_be_gzip_is_named(net: Any) -> None:
    with pytest.raises(BadEncoding, match="not gzip"):
        await fetch(net, TEXT, "gzip")


async def test_encodings_in_two_headers_are_undone_in_turn(net: Any) -> None:
    packed = gzip.compress(brotli.compress(TEXT))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    async with net.serve(head % len(packed) + packed) as server, net.transport() as transport:
        assert (await transport.fetch(net.exchange(net.asks(server.url)))).body == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "br, gzip"])
async def test_the_limit_counts_decompressed_bytes(net: Any, encoding: str) -> None:
    assert len(await fetch(net, PACKED[encoding], encoding, FetchPlan(max_bytes=len(TEXT)))) == len(TEXT)
    with pytest.raises(TooLarge):
        await fetch(net, PACKED[encoding], encoding, FetchPlan(max_bytes=len(TEXT) - 1))


async def test_the_limit_counts_packed_bytes(net: Any) -> None:
    endless = b"".join(gzip.compress(b"") for _ in range(900))
    with pytest.raises(TooLarge):
        await fetch(net, endless, "gzip", FetchPlan(max_bytes=1000))


async def test_a_stream_of_endless_members_is_refused(net: Any) -> None:
    with pytest.raises(BadEncoding, match="members"):
        await fetch(net, gzip.compress(b"") * 5000, "gzip")


async def test_a_cut_transport_cuts_decompressed_bytes(net: Any) -> None:
    answer = net.http(PACKED["gzip"], Content_Encoding="gzip")
    async with (
        net.serve(answer) as server,
        net.transport(FetchPlan(max_bytes=1000, truncates=True)) as transport,
    ):
        page = await transport.fetch(net.exchange(net.asks(server.url)))
    assert page.body == TEXT[:1000]


def gzip_bomb(blocks: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1_000_000)
    for _ in range(blocks):
        yield packer.compress(block)
    yield packer.flush()


def brotli_bomb(blocks: int) -> Iterator[bytes]:
    packer = brotli.Compressor(quality=5)
    block = bytes(1_000_000)
    for _ in range(blocks):
        yield packer.process(block)
    yield packer.finish()


def zstd_bomb(blocks: int) -> Iterator[bytes]:
    packer = zstd.ZstdCompressor()
    block = bytes(1_000_000)
    for _ in range(blocks):
        yield packer.compress(block)
    yield packer.flush()


@pytest.mark.parametrize(
    ("encoding", "bomb"),
    [("gzip", gzip_bomb), ("br", brotli_bomb), ("zstd", zstd_bomb)],
    ids=["gzip", "br", "zstd"],
)
async def test_a_bomb_is_stopped_early_with_little_memory(net: Any, encoding: str, bomb: Any) -> None:
    compressed = b"".join(bomb(400))
    assert len(compressed) < 4_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge):
        await fetch(net, compressed, encoding, FetchPlan(max_bytes=10_000_000))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60_000, f"{grown} KiB more at the peak"


async def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused(net: Any) -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    compressed = packer.compress(TEXT) + packer.flush()
    with pytest.raises(BadEncoding):
        await fetch(net, compressed, "zstd")
