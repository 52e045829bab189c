"""The code in docs/sdk.md does what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.server import TOKEN, Server
from tests.acceptance.workshop import Workshop

from smartspider.client import Results, RunHandle, TaskHandle
from smartspider.client.handles import Logs, Runs, Tasks
from smartspider.demo.process import site_process
from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
SAID = [
    "completed 3 pages, 30 rows",
    "completed",
    "completed 30",
    "run 4 of the task",
    "5.0 became 0.5",
    "cancelled",
    "admin",
    "0 6 * * * Europe/Berlin True",
    "1 admin",
]
"""Some of what the blocks print, in their order."""


@pytest.fixture
def shop() -> Iterator[str]:
    with site_process("smartspider.demo.shop") as url:
        yield url


def test_every_block_of_the_page_runs(workshop: Workshop, shop: str) -> None:
    server = Server(workshop)
    server.start()
    try:
        said = ""
        for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
            done = subprocess.run(
                [sys.executable, "-W", "error", "-c", block.replace("http://127.0.0.1:8800/", shop)],
                cwd=workshop.folder,
                env={**os.environ, "SMARTSPIDER_SERVER": server.url, "SMARTSPIDER_TOKEN": TOKEN},
                capture_output=True,
                text=True,
                timeout=WAIT_S,
                check=False,
            )
            assert done.returncode == 0, f"{block}\n{done.stderr}"
            said += done.stdout
        place = 0
        for line in SAID:
            place = said.find(line, place)
            assert place >= 0, f"{line!r} is not in\n{said}"
        assert len((workshop.folder / "rows.csv").read_text().splitlines()) == 31
    finally:
        server.stop()


def test_the_table_of_handles_is_whole() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    kinds: dict[str, type] = {"client.tasks": Tasks, "client.runs": Runs, "client.logs": Logs}
    kinds |= {"TaskHandle": TaskHandle, "RunHandle": RunHandle, "Results": Results}
    assert rows.keys() == kinds.keys()
    for name, kind in kinds.items():
        has = {*vars(kind), *vars(kind).get("__annotations__", ())}
        assert set(re.findall(r"`(\w+)`", rows[name])) == {one for one in has if not one.startswith("_")}
