"""Write `requirements/*.lock` from pyproject.toml; `--upgrade` takes the newest version of everything.

The locks hold versions and hashes only. The package index is each machine's choice.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).parent / "uv"
OPTIONS = (
    "--quiet --system-certs --universal --python-version 3.11 --generate-hashes --no-header "
    "--no-emit-index-url --no-emit-find-links "
    "--no-emit-package smartspider-crawler --no-emit-package smartspider-testing"
).split()


def main(options: list[str]) -> int:
    """Compile every lock; return 0 on success."""
    if not UV.exists():
        print("uv is not in this environment: run `make setup` where uv can be installed", file=sys.stderr)
        return 1
    # Projects are installed without build isolation; hatchling requires editables only then.
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    build = "\n".join([*requires, "editables"])
    project = ["pyproject.toml", "-"]
    compile_lock("installer", ["-", *options], "uv")
    compile_lock("runtime", [*project, "--extra", "all", *options], build)
    compile_lock(
        "dev",
        [
            *(*project, "packages/smartspider-testing/pyproject.toml", "--extra", "all", "--group", "dev"),
            *("-c", "requirements/runtime.lock", *options),
        ],
        build,
    )
    compile_lock("bench", ["--group", "bench", *options])
    compile_lock("console", ["--group", "console", *options])
    return 0


def compile_lock(name: str, arguments: list[str], extra_requirements: str = "") -> None:
    """Compile one lock file; `-` in the arguments stands for `extra_requirements`."""
    subprocess.run(
        [UV, "pip", "compile", *OPTIONS, *arguments, "--output-file", f"requirements/{name}.lock"],
        cwd=ROOT,
        input=extra_requirements,
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
