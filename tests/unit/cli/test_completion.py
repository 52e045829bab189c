"""Shell completion: printed, and installed where the shell looks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smartspider.cli.main import main
from smartspider_testing.waiting import WAIT_S


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".local/share/bash-completion/completions/smartspider"),
        ("zsh", ".zfunc/_smartspider"),
        ("fish", ".config/fish/completions/smartspider.fish"),
    ],
)
def test_the_printed_script_is_the_installed_one(
    home: Path, capsys: pytest.CaptureFixture[str], shell: str, file: str
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_SMARTSPIDER_COMPLETE" in script
    assert main(["completion", shell, "--install"]) == 0
    assert (home / file).read_text() + "\n" == script


def test_zsh_is_told_once_where_to_look(home: Path) -> None:
    (home / ".zshrc").write_text("export A=1")
    for _ in range(2):
        assert main(["completion", "zsh", "--install"]) == 0
    lines = (home / ".zshrc").read_text().splitlines()
    assert lines[0] == "export A=1"
    assert len(lines) == 2
    assert ".zfunc" in lines[1]


@pytest.mark.parametrize(("shell", "named"), [("/bin/csh", "csh"), ("", "SHELL")])
def test_an_unknown_shell_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str, named: str
) -> None:
    monkeypatch.setenv("SHELL", shell)
    assert main(["completion"]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """The installed script, as bash runs it, with a program that answers as `smartspider` does."""
    program = tmp_path / "smartspider"
    program.write_text('#!/bin/sh\nexec python -m smartspider "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(
        'eval "$(smartspider completion bash)"\n'
        'complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=();'
        ' _smartspider_completion smartspider; echo "${COMPREPLY[@]}"; }\n'
        "complete_words smartspider dem\n"
        "complete_words smartspider run sta\n"
    )
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    finished = subprocess.run(
        ["bash", str(script)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    commands, options = finished.stdout.splitlines()
    assert commands == "demo"
    assert "start" in options.split()
