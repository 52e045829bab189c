"""The committed build of the console is that of its sources, and the wheel holds it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "console" / "src"
BUILD = ROOT / "src" / "smartspider" / "console" / "dist"
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")
FEATURES = sorted(folder.name for folder in (SOURCE / "features").iterdir())


@pytest.fixture(scope="module")
def console() -> ModuleType:
    spec = importlib.util.spec_from_file_location("console_script", ROOT / "scripts" / "console.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_build_is_of_these_sources(console: ModuleType) -> None:
    built = (BUILD / console.HASH_FILE).read_text().strip()
    assert built == console.source_hash(), "the console has changed since it was built: run `make console`"


def test_another_name_content_or_file_is_another_hash(console: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "src" / "a.ts"
    file.parent.mkdir()
    hashes = [console.source_hash(tmp_path)]
    for change in (
        lambda: file.write_text("1"),
        lambda: file.write_text("2"),
        lambda: file.rename(file.with_name("b.ts")),
        lambda: (tmp_path / "package.json").write_text("{}"),
    ):
        change()
        hashes.append(console.source_hash(tmp_path))
    assert len(set(hashes)) == len(hashes)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.ts").write_text("x")
    assert console.source_hash(tmp_path) == hashes[-1]


def test_the_page_names_files_that_exist() -> None:
    named = re.findall(r'(?:src|href)="/([^"]+)"', (BUILD / "index.html").read_text())
    assert named
    assert [name for name in named if not (BUILD / name).is_file()] == []


def test_the_licences_of_what_is_in_the_build_are_told() -> None:
    told = (BUILD / "third-party-licenses.txt").read_text()
    for package in (
        "vue",
        "vue-router",
        "vue-i18n",
        "reka-ui",
        "@tanstack/vue-query",
        "@tanstack/vue-virtual",
    ):
        assert re.search(rf"^{re.escape(package)} \d", told, re.MULTILINE), package
    assert "Permission is hereby granted" in told


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_imports_what_is_shared_and_no_other_feature(feature: str) -> None:
    folder = SOURCE / "features" / feature
    wrong = []
    for file in folder.rglob("*"):
        if file.suffix in (".ts", ".vue"):
            for name in IMPORT.findall(file.read_text()):
                is_own = name.startswith("./") or (
                    name.startswith("../") and (file.parent / name).resolve().is_relative_to(folder.resolve())
                )
                is_package = not name.startswith((".", "@/"))
                if not (is_own or is_package or name.startswith(("@/shared/", "@/api/"))):
                    wrong.append(f"{file.relative_to(SOURCE)}: {name}")
    assert wrong == []
    assert (folder / "index.ts").is_file()


@pytest.mark.parametrize("layer", ["shared", "api"])
def test_what_is_shared_knows_no_feature_and_not_the_shell(layer: str) -> None:
    wrong = [
        f"{file.relative_to(SOURCE)}: {name}"
        for file in (SOURCE / layer).rglob("*")
        if file.suffix in (".ts", ".vue")
        for name in IMPORT.findall(file.read_text())
        if name.startswith(("@/app/", "@/features/")) or (layer == "api" and name.startswith("@/shared/"))
    ]
    assert wrong == []


def test_the_wheel_holds_the_build(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [file for file in BUILD.rglob("*") if file.is_file()]
    assert {file.relative_to(ROOT / "src").as_posix() for file in files} <= names
    assert not [name for name in names if "node_modules" in name or name.endswith((".vue", ".ts"))]
