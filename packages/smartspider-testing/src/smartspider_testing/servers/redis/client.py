"""A minimal Redis client that sets servers up and inspects them."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.servers.redis.security import OPEN, RedisSecurity


class RedisRefused(ServerFailed):
    """The server answered with an error."""


class RedisClient:
    """A connection that sends a command and reads its answer: bytes, int, None or lists of them."""

    def __init__(self, port: int, timeout_s: float = 5.0, guard: RedisSecurity = OPEN) -> None:
        self._socket = guard.connect(port, timeout_s)
        self._file = self._socket.makefile("rb")
        if guard.password:
            try:
                self("AUTH", guard.password)
            except BaseException:
                self.close()
                raise

    def __call__(self, *words: str | bytes | float) -> object:
        """Send a command. Raise `RedisRefused` for an error, `OSError` for a lost connection."""
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        parts = [b"*%d\r\n" % len(encoded), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)]
        self._socket.sendall(b"".join(parts))
        answer = self._read()
        if isinstance(answer, RedisRefused):
            raise answer
        return answer

    def _read(self) -> object:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the Redis server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            return RedisRefused(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._read_bytes(int(rest))
        if kind == b"*":
            return None if int(rest) < 0 else [self._read() for _ in range(int(rest))]
        return rest

    def _read_bytes(self, length: int) -> bytes | None:
        if length < 0:
            return None
        block = self._file.read(length + 2)
        if len(block) < length + 2:
            raise ConnectionResetError("the Redis server closed the connection")
        return block[:-2]

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def sections(text: object) -> dict[str, str]:
    """Return the `name:value` lines of an INFO answer."""
    assert isinstance(text, bytes)
    pairs = (line.partition(":") for line in text.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}
