"""Starts programs of this project from a process that has already imported their modules.

`python -m MODULE` spends half a second of CPU on imports, and a suite starts some thousand programs. The
server imports everything once and forks: each program is a process of its own, with its own folder,
environment, standard streams, session and signals, and a child of the process that asked for it. What Python
reads before it runs a program (`PYTHON...`, locale, libraries) cannot be changed by a fork; `can_fork` tells.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

PR_SET_CHILD_SUBREAPER = 36
LOCALE = "C.UTF-8"
PACKAGES = ("smartspider", "smartspider_testing.sites")
MAX_REQUEST = 1 << 18
_EARLY = ("PYTHON", "LD_", "LC_", "MALLOC_", "GLIBC_")
"""Beginnings of the names of variables that a program reads before its first line runs."""


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a forked program is the same with this environment as one that was started."""
    return environment.get("LANG") == LOCALE and not any(name.startswith(_EARLY) for name in environment)


class ForkServer:
    """The side of the process that asks. It must end the programs itself, as with `subprocess`."""

    def __init__(self) -> None:
        # A program is started by a process that ends at once: this one then becomes its parent.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                env={"LANG": LOCALE, "PATH": os.environ.get("PATH", os.defpath)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
    ) -> int:
        """Run `python -m MODULE ARGUMENTS` with these standard streams. Return the id of the process."""
        wanted = [module, list(arguments), str(folder), dict(environment)]
        socket.send_fds(self._socket, [json.dumps(wanted).encode()], list(streams))
        return int(self._socket.recv(64))


@cache
def fork_server() -> ForkServer:
    """Return the server of this process, which ends with it."""
    return ForkServer()


def main(connection: socket.socket) -> None:
    """Fork a process for each request; return in the new process, ready to run the program."""
    import_everything()
    while True:
        data, streams, _, _ = socket.recv_fds(connection, MAX_REQUEST, 3)
        if not data:
            sys.exit(0)
        go, wait = os.pipe(), os.pipe()
        starter = os.fork()
        if starter == 0:
            if program := os.fork():
                os.write(go[1], str(program).encode())
                os._exit(0)
            # At the end of the pipe, the parent is the one that it will have.
            os.close(wait[1])
            os.read(wait[0], 1)
            connection.close()
            become(json.loads(data), streams)
            return
        os.waitpid(starter, 0)
        connection.send(os.read(go[0], 64))
        for number in (*go, *wait, *streams):
            os.close(number)


def import_everything() -> None:
    """Import all modules of the product and of the sites, except those that need what is not installed."""
    for name in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def become(wanted: tuple[str, list[str], str, dict[str, str]], streams: Sequence[int]) -> None:
    """Make this process what one that was started for the program would be."""
    module, arguments, folder, environment = wanted
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.path[0] = folder
    sys.argv = [module, *arguments]


def run_program() -> NoReturn:
    """Run the program of `sys.argv` to its end."""
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
    run_program()
