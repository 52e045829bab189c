"""The commands in docs/cluster.md print what the page shows, on a real Redis and PostgreSQL."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.acceptance.test_examples import ADDRESS, DOCS, ROOT, Shown, blocks, settled, shown_in
from tests.acceptance.workshop import Workshop

from smartspider.cli.exit_codes import Exit
from smartspider.demo.process import site_process
from smartspider_testing.servers import RedisServer
from smartspider_testing.waiting import WAIT_S

pytestmark = pytest.mark.acceptance

PAGE = DOCS / "cluster.md"
NAMES = {"crawler-1": platform.node(), "shop.example": "127.0.0.1"}
"""Names on the page, and what stands for them here."""
LOOKS = ("smartspider node list", "smartspider run stall")
"""Commands that only look, and so may be asked again until they see what is shown."""
VARIES = re.compile(r"worker \d+ \(pid \d+|\d+ s of CPU|\d+ cores?|seen \S+|\d+ in flight")
"""Figures that depend on the moment: a host that is resumed may be fetched from before the command ends."""


class Shell:
    """A newcomer's terminal on a machine of the cluster: an empty home, and the settings in `.env`."""

    def __init__(self, workshop: Workshop) -> None:
        self.folder = workshop.folder
        home = self.folder.parent / "newcomer"
        home.mkdir()
        path = f"{sys.prefix}/bin:{os.environ['PATH']}"
        self._environment = {"HOME": str(home), "LANG": "C.UTF-8", "PATH": path}
        if "PYTHONPATH" in os.environ:
            self._environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def run(self, command: str) -> tuple[int, str]:
        """Run a command. Return its exit code and output."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        return done.returncode, done.stdout

    def must_show(self, shown: Shown) -> None:
        """The command of the page says what the page shows."""
        command = shown.command
        for name, here in NAMES.items():
            command = command.replace(name, here)
        give_up_at = time.monotonic() + (WAIT_S if command.startswith(LOOKS) else 0.0)
        while True:
            code, said = self.run(command)
            lines = {_settled(line) for line in said.splitlines()}
            missing = [line for line in shown.lines if line != "..." and _settled(line) not in lines]
            if code == 0 and not missing:
                return
            assert time.monotonic() < give_up_at, f"$ {command} ({code})\n{said}\nmissing: {missing}"


def _settled(line: str) -> str:
    for name, here in NAMES.items():
        line = line.replace(here, name)
    return settled(VARIES.sub("#", line))


def _settings(shell: Shell, store: str, frontier: str) -> None:
    """The step with `.env` and `doctor`, with addresses that are ours."""
    (step,) = [block for block in blocks(PAGE, "sh") if "cat > .env" in block]
    for name, url in (("STORE", store), ("FRONTIER", frontier)):
        step = re.sub(rf"(?<=SMARTSPIDER_{name}_URL=).*", url, step)
    code, said = shell.run(step)
    assert code == Exit.FAILED, said
    words = " ".join(PAGE.read_text().split())
    told = [" ".join(line.split()) for line in said.splitlines() if re.match(r"\w+ +(store|frontier):", line)]
    assert len(told) == 2
    assert [line for line in told if line not in words] == []
    with (shell.folder / ".env").open("a") as settings:
        settings.write("SMARTSPIDER_ALLOW_PRIVATE=127.0.0.1\n")


def test_a_newcomer_sees_what_the_page_shows(
    workshop: Workshop, empty_database: str, empty_redis: RedisServer
) -> None:
    shell = Shell(workshop)
    _settings(shell, empty_database, empty_redis.url)
    assert "smartspider worker --processes 2 --concurrency 16\n" in "".join(blocks(PAGE, "sh"))
    processes = [
        workshop.start("keeper"),
        workshop.start("worker", "--processes", 2, "--concurrency", 16),
    ]
    with site_process("smartspider.demo.shop") as shop:
        task = (ROOT / "examples" / "shop_list.json").read_text()
        task = task.replace(f"http://{ADDRESS}/", shop).replace('"shop_list"', '"shop"')
        (shell.folder / "shop.json").write_text(task)
        for shown in shown_in(PAGE):
            shell.must_show(shown)
    assert len(workshop.rows()) == 60
    for command in processes:
        command.signal(signal.SIGTERM)
        assert command.wait().code == 0, command.err
