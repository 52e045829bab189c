"""`smartspider host` as it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.cli.main import main
from smartspider.wiring.opening import open_folder


def test_a_host_is_held_and_slowed_down_for_own_runs_or_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ("--data", str(tmp_path / "data"))
    with open_folder(tmp_path / "data"):
        pass

    def typed(*words: str) -> str:
        assert main(["host", *words, *data]) == 0
        return capsys.readouterr().out

    held = typed("hold", "shop.example", "--for", "10m", "--reason", "lunch", "--own")
    assert held.startswith("shop.example: 0 s apart, 0 in flight, for the runs of ")
    assert held.rstrip().endswith(": lunch")
    both = typed("delay", "shop.example", "5", "--own")
    assert " 5 s apart and held until " in both
    assert "held until" not in typed("resume", "shop.example", "--own")
    assert typed("delay", "shop.example", "3").startswith(
        "shop.example: 3 s apart by operator, 0 in flight, for"
    )
    assert (
        typed("delay", "shop.example", "0", "--own") == "shop.example: 3 s apart by operator, 0 in flight\n"
    )
