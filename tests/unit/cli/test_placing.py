"""Where commands go, and the servers that are kept by name."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click
import pytest

from smartspider.cli.knobs import parse_knobs
from smartspider.cli.main import main
from smartspider.cli.moments import duration_s, moment
from smartspider.cli.place import Place
from smartspider.cli.profiles import (
    Profile,
    Profiles,
    checked_name,
    profiles_file,
    read_profiles,
    write_profiles,
)
from smartspider.client import Client
from smartspider.core.errors import NotFound, RequestInvalid, SettingInvalid
from smartspider.wiring.office.local import LocalOffice


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SERVER", "TOKEN", "TOKEN_FILE", "PROFILE", "STORE_URL", "CA_FILE"):
        monkeypatch.delenv(f"SMARTSPIDER_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def kept(current: str | None = None) -> None:
    write_profiles(
        Profiles(current, {"far": Profile("http://far", "far-token"), "bare": Profile("http://bare")})
    )


def test_without_anything_a_command_stays_here() -> None:
    assert Place().remote() is None


def test_a_folder_wins_over_everything_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("far")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    assert Place(data=Path("x")).remote() is None


def test_an_option_wins_over_a_setting_and_a_setting_over_the_profile_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept("far")
    assert Place().remote() == Profile("http://far", "far-token")
    assert Place(profile="bare").remote() == Profile("http://bare")
    monkeypatch.setenv("SMARTSPIDER_PROFILE", "bare")
    assert Place().remote() == Profile("http://bare")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    monkeypatch.setenv("SMARTSPIDER_TOKEN", "set-token")
    assert Place().remote() == Profile("http://set", "set-token")
    assert Place(server="http://said").remote() == Profile("http://said", "set-token")
    assert Place(server="http://said", token="said").remote() == Profile("http://said", "said")
    assert Place(profile="far").remote() == Profile("http://far", "far-token")
    assert Place(profile="far", token="said").remote() == Profile("http://far", "said")
    assert Place(profile="local").remote() is None


def test_a_folder_of_the_settings_wins_over_the_profile_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("far")
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "sqlite:///here")
    assert Place().remote() is None
    assert Place(profile="far").remote() is not None


def test_a_token_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    monkeypatch.setenv("SMARTSPIDER_TOKEN_FILE", str(tmp_path / "token"))
    assert Place().remote() == Profile("http://set", "from-a-file")


@pytest.mark.parametrize(
    "place",
    [
        Place(data=Path("x"), server="http://a"),
        Place(data=Path("x"), profile="far"),
        Place(server="http://a", profile="far"),
        Place(data=Path("x"), token="t"),
    ],
)
def test_two_places_at_once_are_wrong_usage(place: Place) -> None:
    with pytest.raises(click.UsageError):
        place.remote()


def test_profiles_are_for_their_owner_alone() -> None:
    kept()
    file = profiles_file()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["profiles.json"]
    assert read_profiles().servers["far"] == Profile("http://far", "far-token")


def test_the_first_profile_is_in_use_until_another_is() -> None:
    one = Profiles().with_one("a", Profile("http://a")).with_one("b", Profile("http://b"))
    assert one.current == "a"
    assert one.using("b").current == "b"
    assert one.using("local").with_one("c", Profile("http://c")).current == "local"
    assert one.without("a").current is None
    with pytest.raises(NotFound, match="there is no profile 'x'"):
        one.using("x")


def test_a_file_that_holds_no_profiles_is_said_so_without_showing_it() -> None:
    profiles_file().parent.mkdir(parents=True)
    profiles_file().write_text('{"servers": {"a": {"url": 3, "token": "secret-thing"}}}')
    with pytest.raises(SettingInvalid) as caught:
        read_profiles()
    assert "secret-thing" not in caught.value.message


def test_without_a_folder_for_settings_the_home_has_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", "not/absolute"):
        monkeypatch.setenv("XDG_CONFIG_HOME", unset)
        assert profiles_file() == tmp_path / ".config" / "smartspider" / "profiles.json"


@pytest.mark.parametrize("name", ["", "local", "-a", "a b", "a/b", "a" * 65])
def test_a_name_that_says_something_else_is_refused(name: str) -> None:
    with pytest.raises(RequestInvalid):
        checked_name(name)


@pytest.mark.parametrize(
    ("texts", "knobs"),
    [
        (["delay_s=1.5", "concurrency=8"], {"delay_s": 1.5, "concurrency": 8}),
        (["limits.max_pages=100", "max_errors=none"], {"limits": {"max_pages": 100, "max_errors": None}}),
        (["rate_per_s=null"], {"rate_per_s": None}),
    ],
)
def test_knobs_are_read_as_people_write_them(texts: list[str], knobs: dict[str, Any]) -> None:
    assert parse_knobs(texts) == knobs


@pytest.mark.parametrize(
    "text", ["delay_s", "delay=1", "concurrency=many", "concurrency=true", "limits=3", "=1"]
)
def test_what_turns_no_knob_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid):
        parse_knobs([text])


def test_so_long_ago_is_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    assert moment("10m") == "999400.000"
    assert moment("2026-01-31") == "2026-01-31"
    assert moment("1700000000") == "1700000000"
    assert moment(None) is None
    assert [duration_s(text) for text in ("90", "90s", "1.5h", "1w")] == [90, 90, 5400, 604_800]
    with pytest.raises(RequestInvalid):
        duration_s("soon")


def test_an_office_and_a_client_take_the_same_words() -> None:
    for name, method in inspect.getmembers(LocalOffice, inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        there = inspect.signature(getattr(Client, name), eval_str=False).parameters
        for parameter in inspect.signature(method).parameters.values():
            twin = there[parameter.name]
            assert (twin.kind, twin.default) == (parameter.kind, parameter.default), f"{name}: {parameter}"


def test_the_command_line_needs_a_place_for_everything_it_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["user", "list"]) == 3
    assert "there is no data folder here" in capsys.readouterr().err
