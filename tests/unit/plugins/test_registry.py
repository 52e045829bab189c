"""Names become objects, and wrong names become sentences."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.errors import NotBuilt, NotFound
from smartspider.outputs.json import JsonlOutput
from smartspider.plugins import registry
from smartspider.plugins.kinds import KINDS, OUTPUT, SOURCE, PluginKind
from smartspider_testing.plugin_packages import install_package


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path where packages can be put."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def put_package(folder: Path, package: str, points: str, source: str = "") -> None:
    install_package(folder, package, source, f"[smartspider.outputs]\n{points}\n")


@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(kind, name, id=f"{kind.name}-{name}") for kind in KINDS for name in kind.built_in],
)
def test_every_built_in_can_be_loaded(kind: PluginKind[Any], name: str) -> None:
    assert callable(registry.resolve(kind, name))


def test_a_built_in_is_found_without_scanning_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(registry, "entry_points")
    assert registry.resolve(OUTPUT, "jsonl") is JsonlOutput


def test_an_installed_package_adds_a_name(installed: Path) -> None:
    put_package(
        installed, "spider-toml", "toml = spider_toml:open_toml", "def open_toml(path, columns, options): ..."
    )
    assert registry.resolve(OUTPUT, "toml") is import_module("spider_toml").open_toml
    assert registry.known(OUTPUT) == sorted([*OUTPUT.built_in, "toml"])


def test_a_package_cannot_replace_a_built_in(installed: Path) -> None:
    put_package(installed, "spider-evil", "jsonl = spider_evil:Evil", "class Evil: ...")
    assert registry.resolve(OUTPUT, "jsonl") is JsonlOutput
    assert "spider_evil" not in sys.modules


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones() -> None:
    with pytest.raises(NotFound, match="jsnl") as caught:
        registry.resolve(OUTPUT, "jsnl")
    assert caught.value.hint.startswith("did you mean 'jsonl' or 'json'? known: csv, db, json, jsonl, ")


def test_a_name_like_no_other_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotFound) as caught:
        registry.resolve(OUTPUT, "qqqq")
    assert caught.value.hint.startswith("known: csv, db, json, jsonl, ")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import a_library_nobody_has", "ModuleNotFoundError: No module named 'a_library_nobody_has'"),
        ("raise ZeroDivisionError('at import')", "ZeroDivisionError: at import"),
        ("", "AttributeError: module 'spider_broken' has no attribute 'Output'"),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_names_itself_and_the_reason(
    installed: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    monkeypatch.delitem(sys.modules, "spider_broken", raising=False)
    put_package(installed, "spider-broken", "broken = spider_broken:Output", source)
    with pytest.raises(NotBuilt) as caught:
        registry.resolve(OUTPUT, "broken")
    assert "'broken' of spider-broken 1.0" in caught.value.message
    assert caught.value.message.endswith(reason)


def test_a_plug_in_with_another_signature_is_refused_by_name(installed: Path) -> None:
    put_package(
        installed, "spider-odd", "odd = spider_odd:Odd", "class Odd:\n    def __init__(self, path): ..."
    )
    with pytest.raises(NotBuilt, match=r"spider-odd 1\.0 .*\(path, columns, options\)"):
        registry.resolve(OUTPUT, "odd")


def test_packages_cannot_add_to_a_kind_without_a_group() -> None:
    assert registry.known(SOURCE) == sorted(SOURCE.built_in)
    with pytest.raises(NotFound):
        registry.resolve(SOURCE, "qqqq")


def test_each_kind_has_a_group_of_its_own() -> None:
    groups = [kind.group for kind in KINDS if kind.group is not None]
    assert len(set(groups)) == len(groups)


def test_two_packages_with_one_name_are_refused_by_name(installed: Path) -> None:
    put_package(installed, "spider-a", "toml = spider_a:Output")
    put_package(installed, "spider-b", "toml = spider_b:Output")
    with pytest.raises(NotBuilt, match=r"spider-a 1\.0, spider-b 1\.0"):
        registry.resolve(OUTPUT, "toml")
