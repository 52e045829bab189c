"""Proxies that people use: tinyproxy (HTTP) and microsocks (SOCKS 5), on private ports."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider_testing.servers import programs
from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.process import ServerProcess

USER, PASSWORD = "ann", "canary-4e0d"


@contextmanager
def tinyproxy(folder: Path) -> Iterator[str]:
    """Run tinyproxy with a password, and yield its URL."""
    port, settings = free_port(), folder / "tinyproxy.conf"
    lines = [f"Port {port}", "Listen 127.0.0.1", "Timeout 30", f"BasicAuth {USER} {PASSWORD}"]
    settings.write_text("\n".join([*lines, ""]))
    with _running([programs.tinyproxy(), "-d", "-c", str(settings)], folder, port):
        yield f"http://{USER}:{PASSWORD}@127.0.0.1:{port}"


@contextmanager
def microsocks(folder: Path) -> Iterator[str]:
    """Run microsocks with a password, and yield its URL."""
    port = free_port()
    command = [programs.microsocks(), "-i", "127.0.0.1", "-p", str(port), "-u", USER, "-P", PASSWORD]
    with _running(command, folder, port):
        yield f"socks5h://{USER}:{PASSWORD}@127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    process = ServerProcess(command, folder)
    process.start()
    try:
        process.wait_until("listen", lambda: _listens(port))
        yield
    finally:
        process.end(signal.SIGKILL)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
