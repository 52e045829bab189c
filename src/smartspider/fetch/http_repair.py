"""Repair HTTP/1 answers that break the standard in ways browsers accept.

Pure functions over bytes. What no browser reads raises `UnreadableAnswer`, which says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MAX_HEAD_BYTES = 262_144
"""The longest head of an answer, as in Chrome."""

_SLOP_BYTES = 8
"""Bytes before the status line that are skipped, such as a byte order mark."""
_TLS_BEGIN = (b"\x15\x03", b"\x16\x03")
_HEAD_END = re.compile(rb"\n\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_PROTOCOL = re.compile(rb"http", re.IGNORECASE)
_STATUS_LINE = re.compile(
    rb"http(?:[ \t]*/[ \t]*(\d+)(?:\.(\d+))?)?(?:[ \t]+(\d+(?![^ \t]))?(.*))?",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?", re.DOTALL)
_CHUNK_START = re.compile(rb"[0-9A-Fa-f]{0,16}[ \t]*(?:;.*|\r?)", re.DOTALL)
_MAX_CHUNK_LINE = 16_384
_MAX_LENGTH_DIGITS = 18


class UnreadableAnswer(Exception):
    """An answer that is not HTTP, or contradicts itself; the text completes "the answer ..."."""


class RepairedHead(msgspec.Struct, frozen=True):
    """A head that every parser reads, and where the body begins."""

    head: bytes
    status: int
    body_at: int
    length: int | None
    """The declared length of the body; None: until the end of the connection, or chunked."""
    is_chunked: bool


def find_head_end(wire: bytes) -> int | None:
    """Return where the body begins; None if the head is not complete. Raise `UnreadableAnswer` as soon as the
    bytes cannot become a head.
    """
    start = _skip_line_ends(wire)
    found = _PROTOCOL.search(wire, start, start + _SLOP_BYTES + 4)
    if found is None:
        if len(wire) - start >= _SLOP_BYTES + 4:
            raise not_http(wire)
        return None
    end = _HEAD_END.search(wire, found.start())
    if (len(wire) if end is None else end.end()) > MAX_HEAD_BYTES:
        raise UnreadableAnswer(f"has a header of more than {MAX_HEAD_BYTES} bytes")
    return None if end is None else end.end()


def not_http(wire: bytes) -> UnreadableAnswer:
    """Return the error for an answer in another protocol."""
    if wire.startswith(_TLS_BEGIN):
        return UnreadableAnswer("is TLS, not HTTP: the URL has to begin with https")
    return UnreadableAnswer(f"is not HTTP: it begins with {show_bytes(wire)}")


def repair_head(wire: bytes, end: int) -> RepairedHead:
    """Return the head, which ends at `end`, as a standard one; raise `UnreadableAnswer`."""
    start = _skip_line_ends(wire)
    found = _PROTOCOL.search(wire, start, start + _SLOP_BYTES + 4)
    first, *lines = _LINE_END.split(wire[found.start() if found else start : end].rstrip(b"\r\n"))
    version, status, reason = _status_line(first)
    fields = list(_fields(lines))
    lengths = b",".join(value for name, value in fields if name == b"content-length")
    codings = b",".join(value for name, value in fields if name == b"transfer-encoding")
    is_chunked = codings.rpartition(b",")[2].strip().lower() == b"chunked"
    length = None if is_chunked else _length(lengths)
    kept = [b"%s %03d %s" % (version, status, reason)]
    kept += [
        b"%s: %s" % field for field in fields if field[0] not in {b"content-length", b"transfer-encoding"}
    ]
    if is_chunked:
        kept.append(b"transfer-encoding: chunked")
    elif length is not None:
        kept.append(b"content-length: %d" % length)
    return RepairedHead(b"\r\n".join(kept) + b"\r\n\r\n", status, end, length, is_chunked)


def _skip_line_ends(wire: bytes) -> int:
    return len(wire) - len(wire.lstrip(b"\r\n"))


def _status_line(line: bytes) -> tuple[bytes, int, bytes]:
    """Return version, status and reason. Any version is HTTP/1; a missing status is 200, as in browsers."""
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        raise not_http(line)
    major, minor, digits, rest = found.groups()
    status = digits or b"200"
    if len(status) != 3:
        raise UnreadableAnswer(f"has no status of three digits: {show_bytes(line)}")
    is_new = major is not None and (int(major[:4]), int((minor or b"0")[:4])) >= (1, 1)
    reason = _CONTROLS.sub(b" ", rest or b"").strip()
    return b"HTTP/1.1" if is_new else b"HTTP/1.0", int(status), reason


def _fields(lines: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield names and values; lines that are no header are left out, folded lines are joined."""
    unfolded: list[bytes] = []
    for line in lines:
        if line[:1] in {b" ", b"\t"}:
            if unfolded:
                unfolded[-1] += b" " + line.strip()
        else:
            unfolded.append(line)
    for line in unfolded:
        name, colon, value = line.partition(b":")
        name = name.strip()
        if colon and _TOKEN.fullmatch(name):
            yield name.lower(), _CONTROLS.sub(b" ", value).strip()


def _length(listed: bytes) -> int | None:
    """Return the one valid length; lengths that are no number are ignored, as in browsers."""
    values = {value.strip() for value in listed.split(b",")}
    valid = {int(value) for value in values if value.isdigit() and len(value) <= _MAX_LENGTH_DIGITS}
    if len(valid) > 1:
        named = " and ".join(str(length) for length in sorted(valid))
        raise UnreadableAnswer(f"has several Content-Length headers that differ: {named}")
    return next(iter(valid), None)


class ChunkDecoder:
    """Decodes a chunked body as leniently as browsers do: line feeds alone, any extensions and trailers."""

    def __init__(self) -> None:
        self._wire = b""
        self._left = 0
        """Bytes of the current chunk that are missing; -1: its line end is."""
        self._is_in_trailers = False
        self.is_ended = False
        """The last chunk came; trailers may be missing."""
        self.is_complete = False
        """The body and its trailers came."""

    def feed(self, data: bytes) -> bytes:
        """Return decoded bytes; raise `UnreadableAnswer`. Bytes after the end are ignored."""
        self._wire += data
        decoded = []
        while self._wire and not self.is_complete:
            if self._left > 0:
                piece = self._wire[: self._left]
                self._wire = self._wire[len(piece) :]
                self._left = self._left - len(piece) or -1
                decoded.append(piece)
                continue
            line, found, rest = self._wire.partition(b"\n")
            if not found:
                self._check_start(line)
                break
            self._wire = rest
            self._read_line(line.removesuffix(b"\r"))
        return b"".join(decoded)

    def _check_start(self, line: bytes) -> None:
        """Raise `UnreadableAnswer` if the start of a line cannot become a chunk size."""
        is_size = self._is_in_trailers or self._left == -1 or _CHUNK_START.fullmatch(line)
        if not is_size or len(line) > _MAX_CHUNK_LINE:
            raise UnreadableAnswer(f"has an invalid chunk size: {show_bytes(line)}")

    def _read_line(self, line: bytes) -> None:
        if self._is_in_trailers:
            self.is_complete = not line
        elif self._left == -1:
            if line:
                raise UnreadableAnswer(f"has a chunk that is longer than its size says: {show_bytes(line)}")
            self._left = 0
        else:
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise UnreadableAnswer(f"has an invalid chunk size: {show_bytes(line)}")
            self._left = int(size[1], 16)
            self.is_ended = self._is_in_trailers = self._left == 0


def show_bytes(data: bytes) -> str:
    """Return the start of an answer in quotes, with dots for what cannot be printed."""
    text = data[:60].decode("ascii", errors="replace")
    return '"' + "".join(each if each.isprintable() and each != "\ufffd" else "." for each in text) + '"'
