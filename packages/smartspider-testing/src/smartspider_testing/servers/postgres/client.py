"""A minimal PostgreSQL client that creates databases and checks that a server is up."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Self

from smartspider_testing.servers.errors import ServerFailed

VERSION = 196_608  # 3.0


class PostgresRefused(ServerFailed):
    """The server answered with an error; `code` is its SQLSTATE."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class PostgresClient:
    """A connection over the socket file for simple statements; values are text or None."""

    def __init__(self, socket_file: Path, user: str, database: str, timeout_s: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        self._file = self._socket.makefile("rb")
        try:
            self._socket.connect(str(socket_file))
            self._greet({"user": user, "database": database})
        except BaseException:
            self.close()
            raise

    def _greet(self, parameters: dict[str, str]) -> None:
        words = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items())
        self._socket.sendall(struct.pack("!II", len(words) + 9, VERSION) + words + b"\0")
        self._answer()

    def __call__(self, statement: str) -> list[list[str | None]]:
        """Run statements. Raise `PostgresRefused` for an error response, `OSError` for a lost connection."""
        text = statement.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
        return self._answer()

    def _answer(self) -> list[list[str | None]]:
        rows: list[list[str | None]] = []
        error: PostgresRefused | None = None
        while True:
            kind, body = self._message()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                error = _error(body)
            elif kind == b"R" and body[:4] != bytes(4):
                raise PostgresRefused("28000", "the server asks for a password")
            if kind == b"Z" or (error is not None and error.code.startswith(("57P", "28", "3D", "53300"))):
                break
        if error is not None:
            raise error
        return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._file.read(5)
        if len(head) == 5:
            length = int.from_bytes(head[1:]) - 4
            body = self._file.read(length)
            if len(body) == length:
                return head[:1], body
        raise ConnectionResetError("the PostgreSQL server closed the connection")

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _row(body: bytes) -> list[str | None]:
    row: list[str | None] = []
    at = 2
    for _ in range(int.from_bytes(body[:2])):
        length = int.from_bytes(body[at : at + 4], signed=True)
        at += 4
        row.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return row


def _error(body: bytes) -> PostgresRefused:
    fields = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
    return PostgresRefused(fields.get(b"C", "?????"), fields.get(b"M", "no message"))
