"""`make setup`: does what is needed, once, and says what is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "bootstrap.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def script() -> ModuleType:
    return loaded()


class Bootstrap:
    """The script, for a checkout of its own."""

    def __init__(self, script: ModuleType, root: Path, run: Callable[..., None] | None = None) -> None:
        self._script = script
        self._setup = script.Setup(root, run, uv_environment=lambda _: {})

    def main(self, arguments: list[str], **more: Any) -> int:
        return int(self._script.main(arguments, self._setup, **more))


@pytest.fixture
def bootstrap(script: ModuleType, machine: Machine, tmp_path: Path) -> Bootstrap:
    put_checkout(tmp_path)
    return Bootstrap(script, tmp_path, machine.run)


def put_checkout(root: Path) -> None:
    (root / "requirements").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]")
    kit = root / "packages" / "smartspider-testing"
    kit.mkdir(parents=True)
    (kit / "pyproject.toml").write_text("[project]")
    for lock in ("installer", "runtime", "dev", "bench"):
        (root / "requirements" / f"{lock}.lock").write_text(f"{lock}==1")


class Machine:
    """Stands in for the commands: notes them, and makes an environment when asked to."""

    def __init__(self, failed: type[Exception]) -> None:
        self.failed = failed
        self.said: list[str] = []
        self.refuses: Callable[[str], bool] = lambda _: False

    def run(self, command: list[str], _: dict[str, str] | None = None) -> None:
        words = " ".join(Path(word).name if word.startswith("/") else word for word in command)
        self.said.append(words)
        if self.refuses(words):
            raise self.failed("refused")
        if "venv --clear" in words:
            folder = Path(command[-1]) / "bin"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "python").symlink_to(sys.executable)
            (folder / "pip").touch()

    def heard(self, word: str) -> bool:
        return any(word in words for words in self.said)


@pytest.fixture
def machine(script: ModuleType) -> Machine:
    return Machine(script.SetupFailed)


def test_the_first_time_everything_is_made(bootstrap: Bootstrap, machine: Machine) -> None:
    assert bootstrap.main(["runtime"]) == 0
    venv, uv, packages, project = machine.said
    assert "venv --clear .venv" in venv
    assert "--require-hashes --requirement installer.lock" in uv
    assert packages.startswith("uv pip install")
    assert "--require-hashes --requirement runtime.lock" in packages
    assert "--no-deps --no-build-isolation --editable" in project


def test_the_test_kit_is_installed_for_development_only(bootstrap: Bootstrap, machine: Machine) -> None:
    bootstrap.main(["runtime"])
    assert not machine.heard("smartspider-testing")
    bootstrap.main(["dev"])
    assert machine.said[-1].endswith("--editable smartspider-testing")


def test_the_second_time_nothing_runs_and_nothing_is_said(
    bootstrap: Bootstrap, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.main(["runtime"])
    machine.said.clear()
    capsys.readouterr()
    assert bootstrap.main(["runtime"]) == 0
    assert machine.said == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("first", "second", "is_enough"), [("dev", "runtime", True), ("runtime", "dev", False)]
)
def test_dev_includes_runtime_and_not_the_other_way_round(
    bootstrap: Bootstrap, machine: Machine, first: str, second: str, is_enough: bool
) -> None:
    bootstrap.main([first])
    machine.said.clear()
    bootstrap.main([second])
    assert (machine.said == []) is is_enough


@pytest.mark.parametrize("changed", ["requirements/runtime.lock", "pyproject.toml"])
def test_a_change_is_installed_into_the_same_environment(
    bootstrap: Bootstrap, machine: Machine, tmp_path: Path, changed: str
) -> None:
    bootstrap.main(["runtime"])
    machine.said.clear()
    (tmp_path / changed).write_text("something else")
    bootstrap.main(["runtime"])
    assert machine.heard("runtime.lock")
    assert not machine.heard("venv --clear")


def test_a_moved_checkout_gets_a_new_environment(
    script: ModuleType, machine: Machine, tmp_path: Path
) -> None:
    put_checkout(tmp_path / "old")
    Bootstrap(script, tmp_path / "old", machine.run).main(["runtime"])
    machine.said.clear()
    (tmp_path / "old").rename(tmp_path / "new")
    Bootstrap(script, tmp_path / "new", machine.run).main(["runtime"])
    assert machine.heard("venv --clear")


@pytest.mark.parametrize("lost", ["python", "pip"])
def test_a_broken_environment_is_made_anew(
    bootstrap: Bootstrap, machine: Machine, tmp_path: Path, lost: str
) -> None:
    bootstrap.main(["runtime"])
    machine.said.clear()
    (tmp_path / ".venv" / "bin" / lost).unlink()
    bootstrap.main(["runtime"])
    assert machine.heard("venv --clear")


def test_a_setup_that_failed_is_not_taken_for_done(bootstrap: Bootstrap, machine: Machine) -> None:
    machine.refuses = lambda words: "--editable" in words
    assert bootstrap.main(["runtime"]) == 1
    machine.refuses = lambda _: False
    machine.said.clear()
    bootstrap.main(["runtime"])
    assert machine.heard("--editable")


@pytest.mark.parametrize("broken", ["installer.lock", "uv pip"])
def test_pip_takes_over_when_uv_does_not_work(
    bootstrap: Bootstrap, machine: Machine, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    machine.refuses = lambda words: broken in words
    assert bootstrap.main(["dev"]) == 0
    by_pip = [words for words in machine.said if "-m pip" in words and "dev.lock" in words]
    assert len(by_pip) == 1
    assert "--require-hashes" in by_pip[0]
    assert "pip takes over" in capsys.readouterr().err


def test_the_benchmarks_have_an_environment_of_their_own(
    bootstrap: Bootstrap, machine: Machine, tmp_path: Path
) -> None:
    bootstrap.main(["bench"])
    assert (tmp_path / ".venv-bench").is_dir()
    assert not (tmp_path / ".venv").exists()
    assert not machine.heard("--editable")


def test_a_wrong_argument_is_answered_with_the_usage(
    bootstrap: Bootstrap, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap.main(["everything"]) == 2
    assert "runtime|dev|bench" in capsys.readouterr().err


def test_a_failing_command_is_shown_with_its_output(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: list[str]) -> None:
        code = "print('the disk is on fire'); raise SystemExit(7)"
        script.run_command(tmp_path, [sys.executable, "-c", code])

    put_checkout(tmp_path)
    assert Bootstrap(script, tmp_path, fail).main(["runtime"]) == 1
    said = capsys.readouterr().err
    assert "ended with 7" in said
    assert "the disk is on fire" in said


def test_an_old_python_looks_for_a_newer_one_that_runs(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, code in (("python3.13", 127), ("python3.12", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script.newer_python() == str(tmp_path / "python3.12")


def test_an_old_python_alone_is_told_what_is_needed(
    bootstrap: Bootstrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bootstrap.main(["runtime"], oldest=(99, 0)) == 1
    assert "Python 99.0 or newer is needed" in capsys.readouterr().err


def lacks_venv(monkeypatch: pytest.MonkeyPatch, tools: set[str], uid: int) -> None:
    """Be a machine whose Python has `venv` in a package apart, with these tools to install it."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    # PATH cannot hide what is needed as well
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in tools else None)
    monkeypatch.setattr(os, "geteuid", lambda: uid)  # the user of the machine, not a matter of the script


@pytest.mark.parametrize("is_root", [True, False])
def test_a_missing_venv_package_is_installed(
    bootstrap: Bootstrap, machine: Machine, monkeypatch: pytest.MonkeyPatch, is_root: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))  # pytest has a stdin of its own
    lacks_venv(monkeypatch, {"apt-get", "sudo"}, 0 if is_root else 1000)
    assert bootstrap.main(["runtime"]) == 0
    prefix = "env" if is_root else "sudo -n env"
    package = f"python3.{sys.version_info[1]}-venv"
    assert machine.said[0] == f"{prefix} DEBIAN_FRONTEND=noninteractive apt-get update"
    assert machine.said[1].endswith(f"apt-get install --yes --no-install-recommends {package}")


@pytest.mark.parametrize("tools", [set(), {"sudo"}, {"apt-get"}], ids=["nothing", "no apt", "no sudo"])
def test_who_cannot_install_the_venv_package_is_told_its_name(
    bootstrap: Bootstrap,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tools: set[str],
) -> None:
    lacks_venv(monkeypatch, tools, 1000)
    assert bootstrap.main(["runtime"]) == 1
    assert machine.said == []
    assert f"Install python3.{sys.version_info[1]}-venv" in capsys.readouterr().err


def test_uv_asks_where_pip_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "file:///mirror")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    assert loaded().read_uv_environment(sys.executable)["UV_DEFAULT_INDEX"] == "file:///mirror"


def test_uv_does_without_a_cache_where_home_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    assert loaded().read_uv_environment(sys.executable)["UV_NO_CACHE"] == "1"
