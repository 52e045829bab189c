"""`scripts/run_tests.py` and the plug-ins it uses: failures run again alone, and no run stands still."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from smartspider_testing.waiting import scaled

pytestmark = [pytest.mark.acceptance, pytest.mark.long, pytest.mark.timeout(240)]

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_tests.py"
SETTINGS = """
[tool.pytest.ini_options]
addopts = [
  "--import-mode=importlib",
  "-p", "smartspider_testing.suite.standstill",
  "-p", "no:anyio", "-p", "no:asyncio", "-p", "no:hypothesispytest", "-p", "no:schemathesis",  # takes long
]
standstill_s = 12
markers = ["acceptance", "timed", "alone", "soak"]
"""
ORDINARY = """
import pathlib, subprocess, sys, threading, time
import pytest

def fail_once(number):
    seen = pathlib.Path(f"seen-{number}")
    if not seen.exists():
        seen.touch()
        pytest.fail("the first time")

@pytest.mark.acceptance
def test_real(): pass

@pytest.mark.acceptance
@pytest.mark.timed
def test_timed(): pass

def test_ordinary(): pass
"""
FLAKY = """
@pytest.mark.parametrize("number", range({}))
def test_flaky(number): fail_once(number)
"""
SLOW = """
@pytest.mark.timeout(60)
def test_slow(): time.sleep(14)
"""
BROKEN = """
@pytest.mark.acceptance
def test_broken(): assert 1 == 2
"""
STUCK = """
@pytest.fixture
def never_ending():
    yield
    thread = threading.Thread(target=lambda: time.sleep(1_000), daemon=True)
    thread.start()
    thread.join()

def test_stuck(never_ending):
    sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    pathlib.Path("sleeper").write_text(str(sleeper.pid))
"""


def run(folder: Path, *parts: str, at_once: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a suite of these parts."""
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "test_suite.py").write_text("".join((ORDINARY, *parts)))
    return subprocess.run(
        [sys.executable, SCRIPT, "--at-once", str(at_once)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=scaled(200.0),
    )


def test_flaky_tests_are_listed_and_a_process_that_waits_does_not_stand_still(tmp_path: Path) -> None:
    done = run(tmp_path, FLAKY.format(2), SLOW, at_once=2)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = done.stdout.partition("== flaky")[2]
    assert "test_suite.py::test_flaky[0]\ntest_suite.py::test_flaky[1]\n" in listed
    assert done.stdout.splitlines()[-1].startswith("green: 6 passed, 2 flaky (at most 2) in ")


def test_what_fails_alone_too_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, FLAKY.format(1), BROKEN)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "== failed ==\ntest_suite.py::test_broken\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("red: 4 passed, 1 flaky (at most 2), 1 failed in ")


def test_three_flaky_tests_fail_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("run_tests", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    names = [f"test_{number}" for number in range(3)]
    assert script.report(10, names[:2], names[:2], 1.0) == 0
    assert script.report(10, names, names, 1.0) == 1
    assert capsys.readouterr().out.endswith("red: 13 passed, 3 flaky (at most 2) in 1 s\n")


@pytest.mark.parametrize("at_once", [0, 2])
def test_a_run_that_stands_still_ends_with_all_stacks(tmp_path: Path, at_once: int) -> None:
    done = run(tmp_path, STUCK, at_once=at_once)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "did not come to its end" in done.stdout.splitlines()[-1]
    assert "in never_ending" in done.stderr
    assert not Path("/proc", (tmp_path / "sleeper").read_text()).exists()
