"""Runs of a data folder whose workers are gone, and a folder that two servers serve."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from smartspider.cli.main import main
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.data_folder import is_served, serving
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import begin


def test_a_run_whose_workers_are_gone_is_shown_as_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> SqliteBackend:
        backend = SqliteBackend(tmp_path, ManualClock())
        await backend.frontier.join(WorkerRegistration("w"))
        await begin(backend, "http://a.example/")
        return backend

    with asyncio.Runner() as runner:
        backend = runner.run(work())
        assert main(["run", "list", "--data", str(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines()[1].split()[1] == "running"
        runner.run(backend.close())  # gives up the lock of the worker, as the kernel does after a kill
    assert main(["run", "list", "--data", str(tmp_path)]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.split()[1] == "interrupted"
    assert main(["run", "list", "--data", str(tmp_path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["state"], run["interrupted"]) == ("running", True)
    assert main(["run", "show", "--data", str(tmp_path)]) == 0
    assert "interrupted no worker is alive; `smartspider crawl`" in capsys.readouterr().out


def test_a_folder_is_served_as_long_as_the_first_server_lives(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert not is_served(folder)
    assert not folder.exists()
    with serving(folder):
        with serving(folder):
            assert is_served(folder)
        assert is_served(folder)
    assert not is_served(folder)
