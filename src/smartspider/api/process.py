"""The API process: `python -m smartspider.api.process DATA --fd N` serves on a listening
socket it inherits.
"""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import msgspec

from smartspider.api.app import create_app
from smartspider.api.connection_limits import raise_file_limit
from smartspider.api.prometheus import metrics_port
from smartspider.api.server import ApiServer, build_server
from smartspider.engine.loop_tick import ticking
from smartspider.installation.installation import Installation
from smartspider.installation.settings import build_redactor, read_settings
from smartspider.operations.services import Services
from smartspider.services.live.hub import LiveHub, hub_limits
from smartspider.telemetry.process_log import ProcessLogDestinations, process_log
from smartspider.wiring import fault_injection
from smartspider.wiring.offload.process_offload import ProcessOffload
from smartspider.wiring.opening import open_installation
from smartspider.wiring.processes.lifecycle import become_child, run_process, stop_on_signals

SHUTDOWN_S = 2
"""Grace period for open responses at shutdown."""
PING_S = 15.0
MAX_MESSAGE_BYTES = 65_536
"""Size of a message from a client, which only says what it watches."""


async def serve(data: Path, listener: socket.socket, *, with_parent: bool) -> None:
    """Serve requests until asked to stop."""
    settings = read_settings()
    async with open_installation(data, settings, "api") as installation:
        destinations = ProcessLogDestinations(installation.path, installation.logs, settings.log_level)
        async with process_log(destinations, "api", build_redactor(settings)):
            await _serve(installation, listener, with_parent=with_parent)


async def _serve(installation: Installation, listener: socket.socket, *, with_parent: bool) -> None:
    offload = ProcessOffload()
    installation = msgspec.structs.replace(installation, offload=offload)
    services, settings = Services(installation, accepts_admin_token=True), installation.settings
    services.hub = LiveHub(installation.events, installation.logs, hub_limits(raise_file_limit()))
    app = create_app(services)
    server: ApiServer = build_server(
        app,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=PING_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        ssl_certfile=settings.tls_cert or None,
        ssl_keyfile=settings.tls_key or None,
    )

    def stop() -> None:
        services.hub.stop()
        server.should_exit = True

    stop_on_signals(stop, with_parent=with_parent)
    try:
        async with metrics_port(app):
            with ticking():
                await server.serve(sockets=[listener])
    finally:
        await services.close()
        await offload.close()


def main() -> int:
    """Run the command line of the API process."""
    parser = argparse.ArgumentParser(prog="python -m smartspider.api.process", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--fd", type=int, required=True, help="the file descriptor of the listening socket")
    arguments = parser.parse_args()
    become_child()
    fault_injection.arm_from_environment()
    with socket.socket(fileno=arguments.fd) as listener:
        return run_process(serve(arguments.data, listener, with_parent=True))


if __name__ == "__main__":
    sys.exit(main())
