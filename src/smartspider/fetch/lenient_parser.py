"""Let aiohttp read the answers that browsers read.

Its parser in C reads every answer. Only where it fails, the bytes are repaired and parsed again, so that a
standard answer costs nothing more.
"""

from __future__ import annotations

from typing import Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError, TransferEncodingError
from aiohttp.streams import StreamReader

from smartspider.fetch.http_repair import (
    MAX_HEAD_BYTES,
    ChunkDecoder,
    RepairedHead,
    UnreadableAnswer,
    find_head_end,
    not_http,
    repair_head,
)

KEPT_BYTES = 1 << 20
"""The start of a chunked answer that is kept to be read again."""
_NOTHING: tuple[tuple[Any, ...], bool, bytes] = ((), False, b"")
_WITHOUT_BODY = frozenset({204, 304})

_Fed = tuple[Any, bool, bytes]
"""Messages with their payloads, whether the connection was upgraded, and the bytes left over."""


class LenientHandler(ResponseHandler):
    """The protocol of a connection, with a `LenientParser` for each answer."""

    def set_response_params(self, **options: Any) -> None:
        """Prepare for the next answer. If bytes came while no request was open, close the connection: they
        would be taken for the answer.
        """
        if (self._buffer or self._tail or self._exception is not None) and self.transport is not None:
            self.transport.close()
        super().set_response_params(**options)
        self._parser = LenientParser(self, self._parser, options)  # type: ignore[assignment] # it is one

    def make_parser(self, options: dict[str, Any]) -> Any:
        """Use a new parser in C, and return it."""
        super().set_response_params(**options)
        return self._parser

    def use_parser(self, parser: Any) -> None:
        """Let another parser read the rest of the answer."""
        self._parser = parser


class LenientParser:
    """Passes bytes to the parser in C, and takes over where it fails."""

    # Most answers need none of these: as attributes of the class they cost nothing.
    _wire: list[bytes] | None = None
    """The answer so far; None if it is too long to be read again."""
    _kept = 0
    _failure: Exception | None = None
    """The error of the parser in C, once it has failed."""
    _payload: StreamReader | None = None
    _decoder: ChunkDecoder | None = None
    _has_begun = False

    def __init__(self, protocol: LenientHandler, parser: Any, options: dict[str, Any]) -> None:
        self._protocol = protocol
        self._parser = parser
        self._options = options

    def feed_data(self, data: bytes) -> _Fed:
        """Parse bytes; raise `HttpProcessingError` if no browser could read them."""
        if self._decoder is not None:
            return self._decode(data)
        if self._failure is None:
            try:
                fed: _Fed = self._parser.feed_data(data)
            except Exception as failure:  # noqa: BLE001 - errors of the parser have no common class
                self._failure = failure
            else:
                messages = fed[0]
                if messages and (message := messages[-1][0]).code >= 200 and not message.chunked:
                    # The rest of an answer with a fixed length is left to the parser in C.
                    self._protocol.use_parser(self._parser)
                else:
                    self._keep(data)
                    self._look_at(messages)
                return fed
        self._keep(data)
        try:
            return self._recover()
        except UnreadableAnswer as wrong:
            raise self._refuse(wrong) from self._failure

    def feed_eof(self) -> Any:
        """End the answer; raise if the body is not complete."""
        if self._decoder is not None:
            return self._end_chunks(self._decoder)
        if self._failure is not None:
            wire = b"".join(self._wire or ())
            is_head = wire[:4].lower() == b"http"
            wrong = UnreadableAnswer("ends within its header") if is_head else not_http(wire)
            self._protocol.set_exception(_error(wrong))
            return None
        try:
            return self._parser.feed_eof()
        except TransferEncodingError:
            if self._wire is None or self._payload is None:
                raise
            return self._end_chunks(self._start_decoder())

    def pause_reading(self) -> None:
        """Stop parsing until the payload has been read."""
        if self._decoder is None:
            self._parser.pause_reading()

    def message_consumed(self) -> None:
        """Count a message as read."""
        self._parser.message_consumed()

    def _keep(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun, self._wire = True, []
        if self._wire is None:
            return
        self._wire.append(data)
        self._kept += len(data)
        if self._payload is not None and self._kept > KEPT_BYTES:
            self._wire = None

    def _look_at(self, messages: Any) -> None:
        """Remember the payload of a chunked answer; refuse an endless head."""
        if not messages:
            if self._payload is None and self._kept > MAX_HEAD_BYTES:
                raise _error(UnreadableAnswer(f"has a header of more than {MAX_HEAD_BYTES} bytes"))
            return
        message, payload = messages[-1]
        if message.code == 101:
            self._protocol.use_parser(self._parser)
        elif message.code >= 200:
            self._payload = payload

    def _recover(self) -> _Fed:
        if self._payload is not None:
            if self._payload.is_eof():
                raise UnreadableAnswer("is followed by bytes that belong to no request")
            if self._wire is None:
                raise UnreadableAnswer("has an invalid chunk")
            self._start_decoder()
            return _NOTHING
        wire = b"".join(self._wire or ())
        head = _next_head(wire)
        if head is None:
            return _NOTHING
        self._protocol.force_close()
        self._parser = self._protocol.make_parser(self._options)
        has_body = not self._options.get("skip_payload") and head.status not in _WITHOUT_BODY
        if head.is_chunked and has_body:
            messages, _, _ = self._feed_repaired(head.head)
            self._protocol.use_parser(self)
            self._payload = messages[-1][1]
            self._decoder = ChunkDecoder()
            self._decode(wire[head.body_at :])
            return messages, False, b""
        # Bytes behind the body are ignored, as in browsers.
        body = wire[head.body_at :][: head.length] if has_body else b""
        return self._feed_repaired(head.head + body)

    def _feed_repaired(self, data: bytes) -> _Fed:
        try:
            fed: _Fed = self._parser.feed_data(data)
        except Exception as failure:
            raise UnreadableAnswer("has a header that cannot be read") from failure
        return fed

    def _start_decoder(self) -> ChunkDecoder:
        """Decode the chunks again from the start; the payload gets what it does not have yet."""
        wire = b"".join(self._wire or ())
        head = _next_head(wire)
        if head is None or self._payload is None:
            raise UnreadableAnswer("has an invalid chunk")
        self._wire = None
        self._protocol.force_close()
        decoder = self._decoder = ChunkDecoder()
        self._deliver(decoder.feed(wire[head.body_at :])[self._payload.total_bytes :])
        return decoder

    def _decode(self, data: bytes) -> _Fed:
        assert self._decoder is not None  # noqa: S101 - callers checked it
        try:
            self._deliver(self._decoder.feed(data))
        except UnreadableAnswer as wrong:
            raise self._refuse(wrong) from None
        return _NOTHING

    def _deliver(self, decoded: bytes) -> None:
        if self._payload is not None and not self._payload.is_eof():
            self._payload.feed_data(decoded)
            if self._decoder is not None and self._decoder.is_complete:
                self._payload.feed_eof()

    def _end_chunks(self, decoder: ChunkDecoder) -> None:
        if self._payload is None or self._payload.is_eof() or self._payload.exception() is not None:
            return
        if not decoder.is_ended:
            raise TransferEncodingError("the last chunk is missing")
        self._payload.feed_eof()

    def _refuse(self, wrong: UnreadableAnswer) -> HttpProcessingError:
        """Return the error, and end a payload that is being read with it."""
        error = _error(wrong)
        if self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(error)
            self._protocol.force_close()
            # A reader that was woken for a chunk and has not run yet would wait again and miss the error.
            self._payload.feed_eof()
        return error


def _next_head(wire: bytes) -> RepairedHead | None:
    """Return the repaired head of the answer, behind interim answers; None if it is not complete."""
    skipped = 0
    while (end := find_head_end(wire[skipped:])) is not None:
        head = repair_head(wire[skipped:], end)
        if head.status >= 200 or head.status == 101 or head.status < 100:
            return RepairedHead(head.head, head.status, head.body_at + skipped, head.length, head.is_chunked)
        skipped += end
    return None


def _error(wrong: UnreadableAnswer) -> HttpProcessingError:
    return HttpProcessingError(code=502, message=str(wrong))
