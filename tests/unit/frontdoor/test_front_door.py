"""Make targets, continuous integration and the licence."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"


def make(*arguments: str) -> str:
    # A make that runs these tests must not pass its own flags on.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_make_alone_lists_what_it_can_do() -> None:
    assert make() == make("help")
    listed = re.findall(r"^  make (\S+) +\S", make(), re.MULTILINE)
    others = "console console-test screenshots lock format clean"
    assert listed == f"help setup demo serve test check bench soak {others}".split()


def test_make_test_goes_from_the_cheapest_check_to_the_dearest() -> None:
    commands = [
        "scripts/bootstrap.py dev",
        "ruff check",
        "ruff format --check",
        "mypy",
        "lint-imports",
        "scripts/check_names.py",
        "scripts/run_tests.py",
    ]
    plan = make("--dry-run", "test")
    assert sorted(commands, key=plan.index) == commands
    stages = [
        '"not soak and not acceptance"',
        '"acceptance and not soak and not timed and not alone"',
        '"timed and not soak and not alone"',
        '"alone and not soak"',
    ]
    script = (ROOT / "scripts" / "run_tests.py").read_text()
    assert sorted(stages, key=script.index) == stages


def test_make_demo_needs_no_development_packages() -> None:
    plan = make("--dry-run", "demo")
    assert "bootstrap.py runtime" in plan
    assert "bootstrap.py dev" not in plan
    assert plan.rstrip().endswith(".venv/bin/smartspider demo")


def test_continuous_integration_runs_make_test_from_anywhere() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    environment = {**os.environ, "MAKEFLAGS": "--dry-run"}
    done = subprocess.run([script], cwd="/", env=environment, capture_output=True, text=True, check=True)
    assert "scripts/run_tests.py" in done.stdout


def test_the_licence_is_the_unchanged_apache_2() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
