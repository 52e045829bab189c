"""Create a virtual environment of this checkout from its lock file: `bootstrap.py PURPOSE`.

Uses only the standard library and runs on an older Python, so that it can report what is missing. Does
nothing, without network access, if everything is in place.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
NEWER_NAMES = ("python3.13", "python3.12", "python3.11")
STAMP = "smartspider-setup.json"

Purpose = namedtuple("Purpose", "folder lock projects includes")
KIT = "packages/smartspider-testing"
PURPOSES = {
    "runtime": Purpose(".venv", "runtime.lock", projects=(".",), includes=()),
    "dev": Purpose(".venv", "dev.lock", projects=(".", KIT), includes=("runtime",)),
    "bench": Purpose(".venv-bench", "bench.lock", projects=(), includes=()),
    "console": Purpose(".venv-console", "console.lock", projects=(), includes=()),
}


class SetupFailed(Exception):
    """Setup failed; the message is for the user."""


def main(arguments: list[str], setup: Setup | None = None, oldest: tuple[int, int] = OLDEST) -> int:
    """Set up the environment that the argument names; return 0 on success."""
    if len(arguments) != 1 or arguments[0] not in PURPOSES:
        print(f"usage: bootstrap.py {'|'.join(PURPOSES)}", file=sys.stderr)
        return 2
    try:
        if sys.version_info[:2] < oldest:
            python = newer_python(oldest)
            os.execv(python, [python, __file__, *arguments])
        (setup or Setup(ROOT)).set_up(arguments[0])
    except SetupFailed as failure:
        print(f"setup failed: {failure}", file=sys.stderr)
        return 1
    return 0


def newer_python(oldest: tuple[int, int] = OLDEST) -> str:
    """Return the path of a Python on PATH that is new enough."""
    for name in NEWER_NAMES:
        path = shutil.which(name)
        # Version switchers put names on PATH that do not run, so each one is tried.
        if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    raise SetupFailed(
        f"Python {oldest[0]}.{oldest[1]} or newer is needed, this is {sys.version.split()[0]} and none of "
        f"{', '.join(NEWER_NAMES)} is on PATH. On Debian 12 or Ubuntu 24.04: apt-get install python3"
    )


class Setup:
    """Sets up the environments of a checkout. `run` runs a command in an environment, that of this process by
    default.
    """

    def __init__(
        self,
        root: Path,
        run: Callable[..., None] | None = None,
        uv_environment: Callable[[str], dict[str, str]] | None = None,
    ) -> None:
        self._root = root
        self._run = run or partial(run_command, root)
        self._uv_environment = uv_environment or read_uv_environment

    def set_up(self, name: str) -> None:
        """Create an environment and install its locked packages, unless everything is in place."""
        purpose = PURPOSES[name]
        venv = self._root / purpose.folder
        stamp = read_stamp(venv)
        wanted = self._content_hash(purpose)
        is_usable = is_whole(venv) and stamp.get("venv") in {None, venv_hash(venv)}
        if is_usable and stamp.get(name) == wanted:
            return
        print(f"setting up {purpose.folder} ({name}) ...", file=sys.stderr, flush=True)
        if not is_usable:
            stamp = {}
            self._make_venv(venv)
        self._install(venv, purpose)
        stamp["venv"] = venv_hash(venv)
        for done in (name, *purpose.includes):
            stamp[done] = self._content_hash(PURPOSES[done])
        write_stamp(venv, stamp)

    def _content_hash(self, purpose: Purpose) -> str:
        """Return a hash of the locked packages and the projects' definitions."""
        digest = hashlib.sha256()
        definitions = [self._root / project / "pyproject.toml" for project in (".", *purpose.projects[1:])]
        for path in (self._root / "requirements" / purpose.lock, *definitions):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def _make_venv(self, venv: Path) -> None:
        """Create an empty environment; install the `venv` module first if the distribution omits it."""
        try:
            for module in ("venv", "ensurepip"):
                importlib.import_module(module)
        except ImportError:
            self._install_venv_package()
        self._run([sys.executable, "-m", "venv", "--clear", str(venv)])

    def _install_venv_package(self) -> None:
        """Install the separate `venv` package of Debian and Ubuntu, or raise with instructions."""
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        apt = shutil.which("apt-get")
        sudo = shutil.which("sudo")
        by_hand = f"This Python cannot make virtual environments. Install {package} and try again"
        if apt is None:
            raise SetupFailed(f"{by_hand}; apt-get is not here to do it.")
        if os.geteuid() == 0:
            prefix = []
        elif sudo is not None:
            # Without a terminal sudo cannot ask for a password: fail instead of waiting.
            prefix = [sudo] if sys.stdin.isatty() else [sudo, "-n"]
        else:
            raise SetupFailed(f"{by_hand}, as root: apt-get install {package}")
        print(f"installing {package} with apt-get ...", file=sys.stderr, flush=True)
        apt_get = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", apt]
        self._run([*apt_get, "update"])
        self._run([*apt_get, "install", "--yes", "--no-install-recommends", package])

    def _install(self, venv: Path, purpose: Purpose) -> None:
        """Install the locked packages and the projects with uv, or with pip if uv does not work."""
        python = str(venv / "bin" / "python")
        locks = self._root / "requirements"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        uv = [str(venv / "bin" / "uv"), "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
        locked = ["--require-hashes", "--requirement", str(locks / purpose.lock)]
        try:
            self._run([*pip, "--require-hashes", "--requirement", str(locks / "installer.lock")])
            self._run([*uv, *locked], self._uv_environment(python))
        except SetupFailed as failure:
            print(f"uv did not work, pip takes over. {failure}", file=sys.stderr, flush=True)
            self._run([*pip, *locked])
        if purpose.projects:
            # pip in both cases: these are packages without dependencies, so speed does not matter.
            folders = [str(self._root / project) for project in purpose.projects]
            editable = [part for folder in folders for part in ("--editable", folder)]
            self._run([*pip, "--no-deps", "--no-build-isolation", *editable])


def venv_hash(venv: Path) -> str:
    """Return a hash that changes if the checkout moves or its Python is replaced."""
    python = os.path.realpath(str(venv / "bin" / "python"))
    try:
        config = (venv / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        config = ""
    return hashlib.sha256("\n".join((str(venv), python, config)).encode()).hexdigest()


def is_whole(venv: Path) -> bool:
    """Return True if the environment still has its Python, and pip, which `venv` installs last."""
    return all((venv / "bin" / name).exists() for name in ("python", "pip"))


def read_stamp(venv: Path) -> dict[str, str]:
    """Return the hashes of the last installation; empty if there is none."""
    try:
        stamp = json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(venv: Path, stamp: dict[str, str]) -> None:
    """Write the hashes of an installation atomically."""
    fresh = venv / f".{STAMP}.{os.getpid()}"
    fresh.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    fresh.replace(venv / STAMP)


def read_uv_environment(python: str) -> dict[str, str]:
    """Return settings that make uv use pip's index and the certificates of this machine."""
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1"}
    home = os.path.expanduser("~")  # noqa: PTH111 - Path raises where there is no home, this does not
    if not os.access(home, os.W_OK):
        environment["UV_NO_CACHE"] = "1"
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        if key.endswith(".index-url"):
            environment.setdefault("UV_DEFAULT_INDEX", value.strip("'\""))
    return environment


def run_command(root: Path, command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a command quietly in a folder; on failure its output is the message."""
    done = subprocess.run(
        command,
        cwd=str(root),
        env=environment,
        stdin=None if sys.stdin.isatty() else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        shown = " ".join(shlex.quote(part) for part in command)
        raise SetupFailed(f"this command ended with {done.returncode}:\n  {shown}\n{done.stdout.rstrip()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
