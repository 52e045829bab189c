"""Names become objects, and wrong names become sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from smartspider.core.errors import NotBuilt, NotFound
from smartspider.plugins import registry


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path where packages can be put."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def put_package(folder: Path, package: str, points: str, source: str = "") -> None:
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[smartspider.outputs]\n{points}\n")


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in registry.BUILT_IN.items() for name in names]
)
def test_every_built_in_can_be_loaded(kind: str, name: str) -> None:
    assert callable(registry.resolve(kind, name))


def test_a_built_in_is_found_without_scanning_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(registry, "entry_points")
    assert registry.resolve("output", "jsonl").__name__ == "JsonlSink"


def test_an_installed_package_adds_a_name(installed: Path) -> None:
    put_package(installed, "spider-toml", "toml = spider_toml:TomlSink", "class TomlSink: ...")
    assert registry.resolve("output", "toml").__name__ == "TomlSink"
    assert registry.known("output") == sorted([*registry.BUILT_IN["output"], "toml"])


def test_a_package_cannot_replace_a_built_in(installed: Path) -> None:
    put_package(installed, "spider-evil", "jsonl = spider_evil:Evil", "class Evil: ...")
    assert registry.resolve("output", "jsonl").__name__ == "JsonlSink"
    assert "spider_evil" not in sys.modules


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones() -> None:
    with pytest.raises(NotFound, match="no output called 'jsnl'") as caught:
        registry.resolve("output", "jsnl")
    assert caught.value.hint.startswith("'jsonl' or 'json'; known are csv, db, json, jsonl, ")


def test_a_name_like_no_other_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotFound) as caught:
        registry.resolve("output", "qqqq")
    assert caught.value.hint.startswith("known are csv, db, json, jsonl, ")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import a_library_nobody_has", "ModuleNotFoundError: No module named 'a_library_nobody_has'"),
        ("raise ZeroDivisionError('at import')", "ZeroDivisionError: at import"),
        ("", "AttributeError: module 'spider_broken' has no attribute 'Sink'"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_names_itself_and_the_reason(
    installed: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    monkeypatch.delitem(sys.modules, "spider_broken", raising=False)
    put_package(installed, "spider-broken", "broken = spider_broken:Sink", source)
    with pytest.raises(NotBuilt) as caught:
        registry.resolve("output", "broken")
    assert caught.value.message == (
        f"the output plug-in 'broken' of spider-broken 1.0 cannot be loaded: {reason}"
    )


def test_two_packages_with_one_name_are_refused_by_name(installed: Path) -> None:
    put_package(installed, "spider-a", "toml = spider_a:Sink")
    put_package(installed, "spider-b", "toml = spider_b:Sink")
    with pytest.raises(NotBuilt, match=r"more than one package: spider-a 1\.0, spider-b 1\.0"):
        registry.resolve("output", "toml")
