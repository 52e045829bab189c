"""Build or test the console: `console.py build|test`. Uses the Node of this environment.

`build` writes the build to `src/smartspider/console/dist`, which is committed, with a hash of its sources.
`test` checks types, runs the unit tests and compares another build with the committed one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSOLE = ROOT / "console"
BUILD = ROOT / "src" / "smartspider" / "console" / "dist"
HASH_FILE = ".source-hash"
SOURCES = ("index.html", "package.json", "package-lock.json", ".npmrc", "*.ts", "tsconfig.json", "src/**/*")
"""All that the build depends on."""
GENERATED = "src/api/schema.d.ts"
INSTALLED = "node_modules/.package-lock.json"
STEPS = ("build", "test")


def main(arguments: list[str]) -> int:
    """Run the steps of the argument; return 0 on success."""
    if len(arguments) != 1 or arguments[0] not in STEPS:
        print(f"usage: console.py {'|'.join(STEPS)}", file=sys.stderr)
        return 2
    try:
        if not is_installed():
            npm("ci")
        npm("run", "api")
        if arguments[0] == "build":
            build(BUILD)
            return 0
        npm("run", "check")
        npm("run", "test")
        return compare()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the console was not finished: {error}", file=sys.stderr)
        return 1


def build(folder: Path) -> None:
    """Write the build and the hash of its sources to a folder."""
    npm("run", "build", "--", "--outDir", str(folder), "--emptyOutDir")
    (folder / HASH_FILE).write_text(f"{source_hash()}\n", encoding="ascii")


def compare() -> int:
    """Build once more; return 0 if it gives the committed build byte for byte."""
    with tempfile.TemporaryDirectory() as place:
        build(again := Path(place) / "dist")
        contents = [read_all(folder) for folder in (again, BUILD)]
    names = sorted({name for content in contents for name in content})
    changed = [name for name in names if contents[0].get(name) != contents[1].get(name)]
    if changed:
        print(f"another build differs in {', '.join(changed)}: run `make console`", file=sys.stderr)
    return 1 if changed else 0


def read_all(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder, by name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def source_hash(console: Path = CONSOLE) -> str:
    """Return a hash of the names and contents of all sources."""
    found = {path for pattern in SOURCES for path in console.glob(pattern) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(found - {console / GENERATED}, key=lambda one: one.relative_to(console).as_posix()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(console).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def is_installed() -> bool:
    """Return True if the locked packages were installed after the lock was written."""
    installed = CONSOLE / INSTALLED
    return installed.exists() and installed.stat().st_mtime >= (CONSOLE / "package-lock.json").stat().st_mtime


def npm(*words: str) -> None:
    """Run npm in the folder of the console; its output is shown if it fails."""
    folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [str(folder / "npm"), *words],
        cwd=CONSOLE,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    done.check_returncode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
