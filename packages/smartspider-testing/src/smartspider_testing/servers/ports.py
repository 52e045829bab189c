"""Ports for servers that are killed and restarted."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 10_000
RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_given: set[int] = set()


def free_port() -> int:
    """Return an unused port of 127.0.0.1, never the same one twice in a process.

    It lies below the ephemeral ports: one of those could be taken while its server is down, or a client
    that
    reconnects in a loop would end up connected to itself.
    """
    for _ in range(1000):
        port = random.randrange(LOWEST, _lowest_lent())  # noqa: S311 - no secret, only unlike the others'
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    raise OSError("no free port on 127.0.0.1")


def _lowest_lent() -> int:
    try:
        lowest = int(RANGE_FILE.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32_768
    return max(lowest, LOWEST + 2_000)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
