"""The check of names, folders and patches, and that this repository passes it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_names", ROOT / "scripts" / "check_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_class_name_of_two_modules_is_found(check: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Order: ...\nclass _Own: ...\n")
    (tmp_path / "b.py").write_text("class _Own: ...\n")
    assert check.duplicate_classes((tmp_path,)) == []
    (tmp_path / "b.py").write_text("\nclass Order: ...\n")
    (finding,) = check.duplicate_classes((tmp_path,))
    assert "class Order exists 2 times" in finding
    assert f"{tmp_path / 'b.py'}:2" in finding


def test_a_folder_may_hold_twenty_python_files(check: ModuleType, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.py").touch()
    (tmp_path / "schema.sql").touch()
    assert check.crowded_folders((tmp_path,)) == []
    (tmp_path / "one_more.py").touch()
    (finding,) = check.crowded_folders((tmp_path,))
    assert f"{tmp_path} has 21 Python files" in finding


@pytest.mark.parametrize("word", "What Who Whether How Somebody Whoever Nobody Those They".split())
def test_a_docstring_begins_with_no_question(check: ModuleType, tmp_path: Path, word: str) -> None:
    (tmp_path / "a.py").write_text(f'"""{word}soever: fine."""\nX = 1\n"""{word} is vague."""\n')
    vague = check.vague_docstrings((tmp_path,))
    assert [finding.split(": ")[0] for finding in vague] == [f"{tmp_path / 'a.py'}:3"]


@pytest.mark.parametrize(
    ("patch", "name"),
    [
        ('monkeypatch.setattr(module, "WAIT_S", 0.1)', "WAIT_S"),
        ('monkeypatch.setattr(passwords, "_hasher", None)', "_hasher"),
        ('patch.setattr("smartspider.client.rows.PAGE", 3)', "PAGE"),
        ('monkeypatch.setattr(Output, "__init__", None)', "__init__"),
        ('monkeypatch.delattr(module, "T1", raising=False)', "T1"),
        ('mock.patch.object(module, "_run")', "_run"),
        ('patch("smartspider.api.server._open")', "_open"),
    ],
)
def test_a_test_patches_no_constant_and_nothing_private(
    check: ModuleType, tmp_path: Path, patch: str, name: str
) -> None:
    (tmp_path / "test_a.py").write_text(f"\n{patch}\n")
    (finding,) = check.patched_names((tmp_path,))
    assert finding.startswith(f"{tmp_path / 'test_a.py'}:2: a test patches {name};")


@pytest.mark.parametrize(
    "patch",
    [
        'monkeypatch.setattr(os, "fsync", full)',
        'monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)',
        'monkeypatch.setenv("PATH", "/nowhere")',
        'monkeypatch.setitem(sys.modules, "_ssl", None)',
        "setattr(made, name, value)",
        "object()",
    ],
)
def test_the_world_outside_may_be_patched(check: ModuleType, tmp_path: Path, patch: str) -> None:
    (tmp_path / "test_a.py").write_text(f"{patch}\n")
    assert check.patched_names((tmp_path,)) == []


def test_a_test_reads_nothing_private(check: ModuleType, tmp_path: Path) -> None:
    rule = "SLF" + "001"  # written apart: this file is checked as well
    (tmp_path / "test_a.py").write_text(f"store.rows\nstore._rows  # noqa: S101, {rule} - a reason\n")
    (finding,) = check.private_reads((tmp_path,))
    assert finding.startswith(f"{tmp_path / 'test_a.py'}:2:")


def test_this_repository_passes(check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main() == 0, capsys.readouterr().out
