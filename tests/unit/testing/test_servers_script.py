"""`make servers`: installs what is missing, starts nothing, and leaves the machine's policy as it was."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from smartspider_testing.servers import NotInstalled, programs

SCRIPT = Path(__file__).parents[3] / "scripts" / "servers.py"


class Machine:
    """Stands in for apt-get on a machine without the servers; notes the policy that each command meets."""

    def __init__(self, policy: Path) -> None:
        self.policy = policy
        self.has: set[str] = set()
        self.knows = set[str]()
        self.offers = {"redis-server", "redis-sentinel", "postgresql"}
        self.said: list[str] = []
        self.allowed: list[int] = []

    def missing(self, names: list[str]) -> dict[str, str]:
        lacking = [name for name in names if not set(programs.PACKAGES[name]) <= self.has]
        return {name: f"{name} is not installed" for name in lacking}

    def answer(self) -> int:
        """Return the policy's answer to a package that asks to start its service."""
        return subprocess.run([self.policy, "redis-server", "start"], check=False).returncode

    def apt_get(self, failed: type[Exception]) -> Callable[..., None]:
        def run(*words: str) -> None:
            self.said.append(words[0])
            if words[0] == "update":
                self.knows = self.offers
                return
            self.allowed.append(self.answer())
            wanted = {word for word in words[1:] if not word.startswith("-")}
            if not wanted <= self.knows:
                raise failed(f"apt-get install ended with 100: no {min(wanted - self.knows)}")
            self.has |= wanted

        return run


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, on a machine that has every tool, for root."""
    spec = importlib.util.spec_from_file_location("servers_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # the tools and the user are the machine's
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # the handlers of this process stay
    return module


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "policy-rc.d")


@pytest.fixture
def installer(script: ModuleType, machine: Machine, tmp_path: Path) -> Any:
    apt_get = machine.apt_get(script.InstallFailed)
    return script.Installer(tmp_path, machine.policy, apt_get=apt_get, missing=machine.missing)


def test_where_all_is_there_nothing_is_done_or_said() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "redis", "postgres"],
        capture_output=True,
        check=True,
    )
    assert done.stdout + done.stderr == b""


def test_what_is_missing_is_installed_once_and_no_service_starts(
    script: ModuleType, machine: Machine, installer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.knows = machine.offers
    machine.has = {"postgresql"}
    assert script.main(["redis", "postgres"], installer) == 0
    assert machine.has == machine.offers
    assert machine.allowed == [101]
    assert not machine.policy.exists()
    assert "installing redis-server, redis-sentinel with apt-get" in capsys.readouterr().err
    assert script.main(["redis", "postgres"], installer) == 0
    assert machine.said == ["install"]


def test_lists_that_are_old_are_fetched(script: ModuleType, machine: Machine, installer: Any) -> None:
    assert script.main(["redis"], installer) == 0
    assert machine.said == ["install", "update", "install"]


@pytest.mark.parametrize("is_link", [False, True])
def test_the_machines_own_policy_is_back_afterwards_also_after_a_failure(
    script: ModuleType,
    machine: Machine,
    installer: Any,
    is_link: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if is_link:
        machine.policy.symlink_to("/nowhere")
    else:
        machine.policy.write_text("#!/bin/sh\nexit 5\n")
        machine.policy.chmod(0o755)
    machine.offers = set()
    assert script.main(["redis"], installer) == 1
    assert machine.allowed == [101, 101]
    assert machine.policy.is_symlink() is is_link
    assert is_link or machine.policy.read_text() == "#!/bin/sh\nexit 5\n"
    (line,) = capsys.readouterr().err.splitlines()[1:]
    assert line.startswith("redis is not installed (apt-get install ended with 100")


def test_a_run_that_was_killed_leaves_a_policy_that_allows_and_the_next_one_repairs(
    script: ModuleType, machine: Machine, installer: Any
) -> None:
    installer.kept_policy.write_text("#!/bin/sh\nexit 5\n")
    with subprocess.Popen(["true"]) as dead:
        pass
    machine.policy.write_text(f"#!/bin/sh\n{script.MARK}\n[ -d /proc/{dead.pid} ] && exit 101\nexit 0\n")
    machine.policy.chmod(0o755)
    assert machine.answer() == 0
    assert script.main(["redis"], installer) == 0
    assert machine.policy.read_text() == "#!/bin/sh\nexit 5\n"
    assert not installer.kept_policy.exists()


def test_without_root_and_sudo_one_line_says_what_to_install(
    script: ModuleType,
    installer: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "sudo" else name)
    assert script.main(["redis"], installer) == 1
    assert capsys.readouterr().err == "redis is not installed (only root can do it, and there is no sudo)\n"


def test_without_apt_one_line_says_so(
    script: ModuleType,
    installer: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert script.main(["postgres"], installer) == 1
    assert capsys.readouterr().err == "postgres is not installed (there is no apt-get here to do it)\n"


def test_names_it_does_not_know_are_refused(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["mysql"]) == 2
    assert "usage: servers.py redis|postgres|faketime" in capsys.readouterr().err


def test_two_at_once_install_once(machine: Machine, installer: Any) -> None:
    machine.knows = machine.offers
    with installer.sole_installer():
        other = os.open(installer.package_state, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)
        machine.has = set(machine.offers)  # the one who came first is done
        installer.install_as_root(["redis"])
    assert machine.said == []


def test_an_old_redis_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match=r"Redis 7\.0 or newer is needed, not Redis server v=6\.0\.16"):
        programs.redis_server()
    monkeypatch.setenv("PATH", "/nowhere")
    assert "apt-get install redis-server redis-sentinel" in programs.missing(["redis"])["redis"]
