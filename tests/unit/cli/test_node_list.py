"""`smartspider node list` as it is typed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from smartspider.cli.main import main
from smartspider.core.workers.worker import WorkerHealth, WorkerRegistration
from smartspider.interfaces.worker_registry import HeartbeatReport
from smartspider.wiring.opening import open_folder


def test_how_machines_and_workers_do_is_told_where_it_is_worth_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def join() -> None:
        for name, form in (
            ("bad", WorkerHealth(lag_s=0.25, fault_share=0.3, load=1.5)),
            ("well", WorkerHealth(lag_s=0.01, load=1.5)),
        ):
            worker_id = await folder.frontier.join(WorkerRegistration(name, "crawler-1", slots=8, cpus=4))
            await folder.workers.beat(worker_id, HeartbeatReport(8, 2.0, 1 << 20, health=form))

    with open_folder(tmp_path / "data") as folder:
        asyncio.run(join())
        assert main(["node", "list", "--data", str(tmp_path / "data")]) == 0
    lines = capsys.readouterr().out.splitlines()
    (node,) = [line for line in lines if line.startswith("crawler-1")]
    assert node == "crawler-1: 2 workers, 0 of 16 slots in use, 16 free, load 1.5 on 4 cores"
    (bad,) = [line for line in lines if " bad: " in line]
    (well,) = [line for line in lines if " well: " in line]
    assert ", 0.2 s late, 30% of its requests without a response, last seen " in bad
    assert "version unknown, last seen " in well
