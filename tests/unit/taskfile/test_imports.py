"""Importing the package costs nothing; `--help` depends on it."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_itself_imports_no_library() -> None:
    code = (
        "import sys, smartspider.taskfile; print(sorted({'pydantic', 'yaml', 'msgspec'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
