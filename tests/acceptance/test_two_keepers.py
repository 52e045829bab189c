"""Several keepers on one data folder: whatever happens to them, each time is fired once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.workshop import until

from smartspider.core.runs.run import Run
from smartspider.core.schedules import Firing
from smartspider.installation.settings import Settings
from smartspider.services.schedules.schedules import create
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import task_spec
from smartspider.wiring.opening import open_folder
from smartspider.wiring.processes.keeper_process import keeper_command
from smartspider.wiring.processes.lifecycle import run_loop
from smartspider_testing.waiting import WAIT_S

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

TERM_S = 2.0
OPEN = Settings(allow_private="1", schedule_interval=1.0)


class Keepers:
    """Keeper processes on a data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """Another keeper."""
        process = subprocess.Popen(
            [*keeper_command(self.data), "--term-s", str(TERM_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SMARTSPIDER_ALLOW_PRIVATE": "1"},
        )
        self.processes.append(process)
        return process

    def leader(self) -> int | None:
        """The process that leads."""
        with open_folder(self.data) as folder:
            term = run_loop(folder.leadership.current())
        return None if term is None else int(term.owner.split(":")[-2])

    def history(self) -> tuple[list[Firing], list[Run]]:
        """Return the firings so far, oldest first, and all runs."""
        with open_folder(self.data) as folder:
            firings = run_loop(folder.schedules.firings(1, limit=1000))
            return firings[::-1], run_loop(folder.store.list_runs(limit=1000))

    def fired(self) -> int:
        return len(self.history()[0])

    def until_led_by(self, process: subprocess.Popen[bytes]) -> None:
        until(lambda: self.leader() == process.pid, f"process {process.pid} leads")

    def until_fired(self, more: int) -> None:
        wanted = self.fired() + more
        until(lambda: self.fired() >= wanted, f"{more} more firings")

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(WAIT_S)
            if process.stdin is not None:
                process.stdin.close()


@pytest.fixture
def keepers(tmp_path: Path) -> Iterator[Keepers]:
    data = tmp_path / "data"
    data.mkdir()
    place = Keepers(data)
    yield place
    place.close()


def schedule_every_second(data: Path) -> None:
    """A schedule none of whose times may be left out."""
    from smartspider.core.access import Principal

    with open_folder(data, settings=OPEN) as folder:
        spec = task_spec(parse_task({"name": "shop", "entry_urls": ["http://127.0.0.1:9/"]}))
        task = run_loop(folder.tasks.create(spec, actor="ann"))
        knobs = {"every_s": 1.0, "misfire": "all", "overlap": "allow"}
        run_loop(create(folder, Principal("ann", "operator"), task, knobs, is_enabled=True))


def test_every_time_is_fired_once_though_leaders_are_killed_and_stopped(keepers: Keepers) -> None:
    schedule_every_second(keepers.data)
    first = keepers.start()
    keepers.until_led_by(first)
    second = keepers.start()
    keepers.until_fired(2)
    first.kill()
    keepers.until_led_by(second)
    keepers.until_fired(2)
    third = keepers.start()
    second.send_signal(signal.SIGSTOP)
    keepers.until_led_by(third)
    keepers.until_fired(2)
    second.send_signal(signal.SIGCONT)
    keepers.until_fired(3)
    assert keepers.leader() == third.pid
    third.send_signal(signal.SIGTERM)
    assert third.wait(WAIT_S) == 0
    keepers.until_led_by(second)
    keepers.until_fired(1)
    assert second.stdin is not None
    second.stdin.close()
    assert second.wait(WAIT_S) == 0
    assert keepers.leader() is None

    firings, runs = keepers.history()
    begun = firings[0].fire_at
    assert [one.fire_at for one in firings] == [round(begun + number, 3) for number in range(len(firings))]
    assert {one.outcome for one in firings} == {"started"}
    assert sorted(run.id for run in runs) == [one.run_id for one in firings]
    with open_folder(keepers.data) as folder:
        assert run_loop(folder.store.fsck()) == []
        assert run_loop(folder.audit.verify()).broken is None
