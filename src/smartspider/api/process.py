"""The API as a process: `python -m smartspider.api.process DATA --fd N`, on a socket that listens already."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

from smartspider.api.app import create_app
from smartspider.api.metrics_port import metrics_port
from smartspider.api.server import Server, server_of
from smartspider.telemetry.process_log import ProcessPlaces, process_log
from smartspider.wiring import faults
from smartspider.wiring.house import House, open_house
from smartspider.wiring.loop import run_process
from smartspider.wiring.parent import stop_on_signals
from smartspider.wiring.redaction import redactor_of
from smartspider.wiring.settings import Settings, read_settings

GOODBYE_S = 2
"""How long open answers may take when the process is asked to stop."""
PING_S = 15.0
LARGEST_MESSAGE = 1_000_000


async def serve(data: Path, listener: socket.socket, *, with_parent: bool) -> None:
    """Answer requests until asked to stop."""
    settings = read_settings()
    async with open_house(data, settings) as house:
        places = ProcessPlaces(house.premises.path, house.premises.logs, settings.log_level)
        async with process_log(places, "api", redactor_of(settings)):
            await _answer(house, settings, listener, with_parent=with_parent)


async def _answer(house: House, settings: Settings, listener: socket.socket, *, with_parent: bool) -> None:
    app = create_app(house)
    server: Server = server_of(
        app,
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        ws_ping_interval=PING_S,
        timeout_graceful_shutdown=GOODBYE_S,
        ssl_certfile=settings.tls_cert or None,
        ssl_keyfile=settings.tls_key or None,
    )

    def stop() -> None:
        house.hub.stop()
        server.should_exit = True

    stop_on_signals(stop, with_parent=with_parent)
    async with metrics_port(app):
        await server.serve(sockets=[listener])


def main() -> int:
    """The command line of the API process."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.api.process", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--fd", type=int, required=True, help="the number of the socket")
    asked = parser.parse_args()
    faults.arm_from_environment()
    with socket.socket(fileno=asked.fd) as listener:
        return run_process(serve(asked.data, listener, with_parent=True))


if __name__ == "__main__":
    sys.exit(main())
