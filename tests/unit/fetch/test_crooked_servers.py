"""Servers that break HTTP. Each case says who else reads the answer: Chromium 156 and curl 7.88 were tried.

All answers come at once and byte by byte, because the parser sees something else then.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smartspider.core.errors import BadResponse, ConnectionDropped, FetchFailed
from smartspider.core.pages.page import Page
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.http_repair import (
    MAX_HEAD_BYTES,
    ChunkDecoder,
    UnreadableAnswer,
    find_head_end,
    repair_head,
)
from smartspider.fetch.lenient_parser import KEPT_BYTES

OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


Readers = tuple[str, ...]
READ_BY_BOTH: Readers = ("chromium", "curl")
READ_BY_CHROMIUM: Readers = ("chromium",)
READ_BY_CURL: Readers = ("curl",)
READ_BY_NONE: Readers = ()


class Case(NamedTuple):
    name: str
    answer: bytes
    others: Readers


READ = [
    Case("equal lengths", OK + TWO + TWO + b"\r\nok", READ_BY_BOTH),
    Case("equal lengths in one header", OK + b"Content-Length: 2, 2\r\n\r\nok", READ_BY_BOTH),
    Case("a length that is a word", OK + b"Content-Length: two\r\n\r\nok", READ_BY_CHROMIUM),
    Case("a negative length", OK + b"Content-Length: -2\r\n\r\nok", READ_BY_CHROMIUM),
    Case("an empty length", OK + b"Content-Length:\r\n\r\nok", READ_BY_CHROMIUM),
    Case("a length of 30 digits", OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nok", READ_BY_BOTH),
    Case("a space before the colon", OK + b"Content-Length : 2\r\n\r\nok", READ_BY_BOTH),
    Case(
        "a length and chunks",
        OK + TWO + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        READ_BY_BOTH,
    ),
    Case(
        "chunked twice",
        OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\nok\r\n0\r\n\r\n",
        READ_BY_BOTH,
    ),
    Case("identity and a length", OK + b"Transfer-Encoding: identity\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a line without a colon", OK + b"a strange line\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("a header without a name", OK + b": x\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a name with a space", OK + b"X Y: z\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a name with other bytes", OK + b"X\xff\x01: z\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a NUL in a value", OK + b"X: a\0b\r\n" + TWO + b"\r\nok", READ_BY_NONE),
    Case("a carriage return in a value", OK + b"X: a\rb\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a folded header", OK + b"X: a\r\n b\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("a folded first header", OK + b" X: a\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("HTTP/9.9", b"HTTP/9.9 200 OK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("HTTP/1.2", b"HTTP/1.2 200 OK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("HTTP/2 in text", b"HTTP/2 200\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("no version", b"HTTP 200 OK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("small letters", b"http/1.1 200 ok\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("two spaces", b"HTTP/1.1  200  OK\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("tabs", b"HTTP/1.1\t200\tOK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("no status", b"HTTP/1.1 OK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("a byte order mark", b"\xef\xbb\xbf" + OK + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("empty lines before", b"\r\n\r\n" + OK + TWO + b"\r\nok", READ_BY_CHROMIUM),
    Case("bare line feeds", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", READ_BY_BOTH),
    Case("a reason of bytes", b"HTTP/1.1 200 \xff\x01\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("bytes behind the body", OK + TWO + b"\r\nok and more", READ_BY_BOTH),
    Case("bytes behind the chunks", CHUNKED + b"2\r\nok\r\n0\r\n\r\nand more", READ_BY_BOTH),
    Case("an answer behind the body", OK + TWO + b"\r\nok" + OK + b"\r\n", READ_BY_BOTH),
    Case(
        "an interim answer", b"HTTP/1.1 103 Hint\r\nLink: </a>\r\n\r\n" + OK + TWO + b"\r\nok", READ_BY_BOTH
    ),
    Case(
        "an interim answer, then HTTP/9",
        b"HTTP/1.1 100 C\r\n\r\nHTTP/9.0 200 OK\r\n" + TWO + b"\r\nok",
        READ_BY_CHROMIUM,
    ),
    Case("a long header", OK + b"X: " + b"y" * 100_000 + b"\r\n" + TWO + b"\r\nok", READ_BY_BOTH),
    Case("many headers", OK + b"X: y\r\n" * 1000 + TWO + b"\r\nok", READ_BY_BOTH),
    Case("chunks with line feeds", CHUNKED + b"2\nok\n0\n\n", READ_BY_BOTH),
    Case("chunks with spaces", CHUNKED + b"2  \r\nok\r\n0\r\n\r\n", READ_BY_BOTH),
    Case("chunks with extensions", CHUNKED + b'2;a="b"; c\r\nok\r\n0;x\r\n\r\n', READ_BY_BOTH),
    Case("chunks with odd trailers", CHUNKED + b"2\r\nok\r\n0\r\nno trailer\r\n\r\n", READ_BY_CHROMIUM),
    Case("chunks without the last line", CHUNKED + b"2\r\nok\r\n0\r\n", READ_BY_NONE),
    Case("many zeros", CHUNKED + b"0000000000000002\r\nok\r\n0\r\n\r\n", READ_BY_BOTH),
]

UNREAD = [
    (Case("different lengths", OK + TWO + b"Content-Length: 3\r\n\r\nok!", READ_BY_CURL), "2 and 3"),
    (Case("two digits", b"HTTP/1.1 20 OK\r\n" + TWO + b"\r\nok", READ_BY_CHROMIUM), "three digits"),
    (Case("HTTP/0.9", b"<html>old</html>\r\n\r\n", READ_BY_NONE), 'begins with "<html>old<'),
    (Case("SSH", b"SSH-2.0-OpenSSH_9.2\r\n", READ_BY_NONE), 'not HTTP: it begins with "SSH-2.0'),
    (Case("a few bytes", b"\x01\x02", READ_BY_NONE), 'not HTTP: it begins with ".."'),
    (Case("TLS", b"\x15\x03\x01\x00\x02\x02\x16", READ_BY_NONE), "https"),
    (Case("half a bad header", b"HTTP/9.9 200 OK\r\nX", READ_BY_NONE), "within its header"),
    (
        Case("a huge header", OK + b"X: y\r\n" * (MAX_HEAD_BYTES // 6), READ_BY_NONE),
        "more than 262144",
    ),
    (Case("a huge line", OK + b"X: " + b"y" * 2 * MAX_HEAD_BYTES, READ_BY_NONE), "more than 262144"),
    (Case("a chunk size of letters", CHUNKED + b"2\r\nok\r\nZZ\r\n", READ_BY_NONE), '"ZZ'),
    (Case("a chunk that is too long", CHUNKED + b"2\r\nokok\r\n0\r\n\r\n", READ_BY_NONE), "longer"),
    (Case("text instead of chunks", CHUNKED + b"<html>plain</html>", READ_BY_NONE), 'size: "<'),
]

CUT = [
    (
        Case("a short body", OK + b"Content-Length: 100\r\n\r\nshort", READ_BY_NONE),
        "5 of 100",
    ),
    (Case("no last chunk", CHUNKED + b"5\r\nhello\r\n", READ_BY_NONE), "last chunk"),
    (Case("half a header", OK + b"Content-Len", READ_BY_NONE), "header"),
    (Case("half a status", b"HTTP/1.1 2", READ_BY_NONE), "header"),
    (Case("nothing", b"", READ_BY_NONE), "without a response"),
    (Case("only an interim answer", b"HTTP/1.1 100 C\r\n\r\n", READ_BY_NONE), "without a response"),
]


async def fetch(net: Any, answer: bytes, *, is_slow: bool = False, **extras: Any) -> Page:
    async def send(_seen: Any, writer: asyncio.StreamWriter) -> None:
        for start in range(min(len(answer), 300) if is_slow else 0):
            writer.write(answer[start : start + 1])
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(answer[300:] if is_slow else answer)
        writer.close()

    async with net.serve(send) as server, net.transport(FetchPlan(timeout_s=5)) as transport:
        page: Page = await transport.fetch(net.exchange(net.asks(server.url, **extras)))
    return page


async def failure(net: Any, answer: bytes, *, is_slow: bool) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetch(net, answer, is_slow=is_slow)
    net.assert_prose(caught.value.message)
    return caught.value


at_once_and_slowly = pytest.mark.parametrize("is_slow", [False, True], ids=["at once", "slowly"])


@at_once_and_slowly
@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
async def test_what_browsers_read_is_read(net: Any, case: Case, *, is_slow: bool) -> None:
    page = await fetch(net, case.answer, is_slow=is_slow)
    assert (page.status, page.body) == (200, b"ok")


@at_once_and_slowly
@pytest.mark.parametrize(("case", "said"), UNREAD, ids=lambda value: getattr(value, "name", ""))
async def test_what_browsers_refuse_is_named_for_what_it_is(
    net: Any, case: Case, said: str, *, is_slow: bool
) -> None:
    error = await failure(net, case.answer, is_slow=is_slow)
    assert type(error) is BadResponse
    assert said in error.message
    assert "closed" not in error.message


@at_once_and_slowly
@pytest.mark.parametrize(("case", "said"), CUT, ids=lambda value: getattr(value, "name", ""))
async def test_an_answer_that_breaks_off_says_where(
    net: Any, case: Case, said: str, *, is_slow: bool
) -> None:
    error = await failure(net, case.answer, is_slow=is_slow)
    assert type(error) is ConnectionDropped
    assert said in error.message


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_answer_without_a_body_has_none(net: Any, status: str) -> None:
    page = await fetch(net, b"HTTP/1.1 %s\r\n" % status.encode() + TWO + b"\r\nok")
    assert (page.status, page.body) == (int(status[:3]), b"")


async def test_a_crooked_head_answer_has_no_body(net: Any) -> None:
    page = await fetch(net, b"HTTP/9.9 200 OK\r\n" + CHUNKED[len(OK) :], method="HEAD")
    assert (page.status, page.body) == (200, b"")


async def test_headers_of_a_crooked_answer_arrive(net: Any) -> None:
    head = b"HTTP/9.9 404 Not\r\nContent-Type: text/html\r\nbroken\r\nX-A: 1\r\nx-a: 2\r\n"
    page = await fetch(net, head + TWO + b"\r\nok")
    assert page.status == 404
    assert page.headers["content-type"] == "text/html"
    assert page.headers["x-a"] == "1, 2"


async def test_of_several_headers_that_can_be_one_the_browsers_choice_counts(net: Any) -> None:
    targets = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n"
    types = b"Content-Type: a/b\r\nContent-Type: text/html\r\n"
    page = await fetch(net, targets + types + b"Content-Length: 0\r\n\r\n")
    assert (page.headers["location"], page.media_type) == ("/a", "text/html")


async def test_a_crooked_answer_ends_its_connection(net: Any) -> None:
    answer = b"HTTP/9.9 200 OK\r\n" + TWO + b"\r\nok"
    async with net.serve(answer) as server, net.transport() as transport:
        for _ in range(3):
            assert (await transport.fetch(net.exchange(net.asks(server.url)))).body == b"ok"
    assert server.connections == 3


async def test_a_crooked_chunk_late_in_a_body_costs_nothing_of_it(net: Any) -> None:
    text = b"x" * 50_000
    good = b"".join(b"%x\r\n%s\r\n" % (len(text), text) for _ in range(10))
    odd = b'%x; odd="\x01\r\n%s\n' % (len(text), text)
    page = await fetch(net, CHUNKED + good + odd + b"0\n\n")
    assert page.body == text * 11


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_page(net: Any) -> None:
    sent_too_much = asyncio.Event()

    async def answer(seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(net.http(seen.target.encode()))
        await writer.drain()
        await asyncio.sleep(0.01)  # another packet, when the page is complete
        writer.write(net.http(b"of another page"))
        sent_too_much.set()

    async with net.serve(answer) as server, net.transport(FetchPlan(timeout_s=5)) as transport:
        for path in ("/a", "/b", "/c"):
            page = await transport.fetch(net.exchange(net.asks(f"{server.url}{path}")))
            assert page.body == path.encode()
            await sent_too_much.wait()
            await asyncio.sleep(0.01)  # for the client to receive it
            sent_too_much.clear()
    assert server.connections == 3


async def test_a_bad_chunk_behind_another_is_noticed_at_once(net: Any) -> None:
    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"2\r\nok")
        await writer.drain()
        await asyncio.sleep(0.01)  # another packet, which wakes the reader and fails
        writer.write(b"\r\nZZ\r\n")
        await asyncio.sleep(10)

    async with net.serve(answer) as server, net.transport(FetchPlan(timeout_s=5)) as transport:
        with pytest.raises(BadResponse):
            await transport.fetch(net.exchange(net.asks(server.url)))


async def test_bytes_behind_the_last_chunk_end_the_connection_and_not_the_page(net: Any) -> None:
    async def answer(_seen: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        await writer.drain()
        await asyncio.sleep(0.01)  # another packet
        writer.write(b"2\r\nok\r\n0\r\n\r\nand more")

    async with net.serve(answer) as server, net.transport(FetchPlan(timeout_s=5)) as transport:
        for _ in range(3):
            assert (await transport.fetch(net.exchange(net.asks(server.url)))).body == b"ok"
    assert server.connections == 3


async def test_a_bad_chunk_in_a_body_too_long_to_be_read_again_is_an_error_at_once(net: Any) -> None:
    text = b"x" * (2 * KEPT_BYTES)
    error = await failure(net, CHUNKED + b"%x\r\n%s\r\nZZ\r\n" % (len(text), text), is_slow=False)
    assert type(error) is BadResponse


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_chunks_may_come_in_any_pieces(size: int) -> None:
    wire = b"5;x\r\nhello\r\n1\n \n6 \r\nworld!\r\n0\r\nTrailer: 1\r\n\r\nmore"
    decoder = ChunkDecoder()
    pieces = [decoder.feed(wire[start : start + size]) for start in range(0, len(wire), size)]
    assert b"".join(pieces) == b"hello world!"
    assert decoder.is_complete


WORDS = "HTTP/1.1|HTTP/9| 200| OK|\r\n|\n|\r|: |Content-Length|2|-1|,|0|zz|;|\0|\xff| |\t|ok|X|\r\n\r\n"
BITS = st.sampled_from(
    [b"Transfer-Encoding: chunked", *(word.encode("latin-1") for word in WORDS.split("|"))]
)


@given(st.lists(BITS, max_size=30).map(b"".join))
@example(b"HTTP/9 200\n\n")
def test_any_bytes_are_repaired_or_refused(wire: bytes) -> None:
    with suppress(UnreadableAnswer):
        end = find_head_end(wire)
        if end is not None:
            head = repair_head(wire, end)
            assert repair_head(head.head, len(head.head)).head == head.head
    with suppress(UnreadableAnswer):
        decoder = ChunkDecoder()
        assert len(decoder.feed(wire)) <= len(wire)
