from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import aiohttp

from smartspider.demo.process import is_pipe_or_socket, site_process
from smartspider_testing.waiting import WAIT_S

_SHOP = (sys.executable, "-m", "smartspider.demo.shop")


async def test_the_shop_runs_as_a_process_and_prints_its_address() -> None:
    with site_process("smartspider.demo.shop", "--port", "0") as url:
        async with aiohttp.ClientSession() as client, client.get(url) as answer:
            assert answer.status == 200


def test_it_ends_when_whoever_started_it_lets_go_of_its_stdin() -> None:
    with subprocess.Popen(_SHOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().startswith(b"listening on http://127.0.0.1:")
        process.stdin.close()
        assert process.wait(timeout=WAIT_S) == 0


def test_it_ends_on_sigterm() -> None:
    with subprocess.Popen(_SHOP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.terminate()
        assert process.wait(timeout=WAIT_S) == 0


def test_only_a_pipe_tells_that_the_starter_is_gone() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w"), Path(os.devnull).open() as nothing:
        assert is_pipe_or_socket(reading)
        assert not is_pipe_or_socket(nothing.fileno())
