"""The targets of commands, the profiles file, and values of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from smartspider.cli.main import main
from smartspider.cli.profile_file import (
    Profile,
    Profiles,
    check_name,
    profiles_file,
    read_profiles,
    write_profiles,
)
from smartspider.cli.runs.control import parse_tuning
from smartspider.cli.target import Target
from smartspider.cli.times import parse_duration_s, parse_time
from smartspider.core.errors import NotFound, RequestInvalid, SettingInvalid


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


def test_without_options_and_settings_the_target_is_local() -> None:
    assert Target().remote() is None


def test_a_folder_wins_over_everything_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("far")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    assert Target(data=Path("x")).remote() is None


def test_an_option_wins_over_a_setting_and_a_setting_over_the_profile_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept("far")
    assert Target().remote() == Profile("http://far", "far-token")
    assert Target(profile="bare").remote() == Profile("http://bare")
    monkeypatch.setenv("SMARTSPIDER_PROFILE", "bare")
    assert Target().remote() == Profile("http://bare")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    monkeypatch.setenv("SMARTSPIDER_TOKEN", "set-token")
    assert Target().remote() == Profile("http://set", "set-token")
    assert Target(server="http://said").remote() == Profile("http://said", "set-token")
    assert Target(server="http://said", token="said").remote() == Profile("http://said", "said")
    assert Target(profile="far").remote() == Profile("http://far", "far-token")
    assert Target(profile="far", token="said").remote() == Profile("http://far", "said")
    assert Target(profile="local").remote() is None


def test_a_folder_of_the_settings_wins_over_the_profile_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("far")
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "sqlite:///here")
    assert Target().remote() is None
    assert Target(profile="far").remote() is not None


def test_a_token_may_stand_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    monkeypatch.setenv("SMARTSPIDER_SERVER", "http://set")
    monkeypatch.setenv("SMARTSPIDER_TOKEN_FILE", str(tmp_path / "token"))
    assert Target().remote() == Profile("http://set", "from-a-file")


@pytest.mark.parametrize(
    "target",
    [
        Target(data=Path("x"), server="http://a"),
        Target(data=Path("x"), profile="far"),
        Target(server="http://a", profile="far"),
        Target(data=Path("x"), token="t"),
    ],
)
def test_two_targets_at_once_are_wrong_usage(target: Target) -> None:
    with pytest.raises(click.UsageError):
        target.remote()


def test_profiles_are_for_their_owner_alone() -> None:
    kept()
    file = profiles_file()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["profiles.json"]
    assert read_profiles().servers["far"] == Profile("http://far", "far-token")


def test_the_first_profile_is_in_use_until_another_is() -> None:
    one = Profiles().with_profile("a", Profile("http://a")).with_profile("b", Profile("http://b"))
    assert one.current == "a"
    assert one.with_current("b").current == "b"
    assert one.with_current("local").with_profile("c", Profile("http://c")).current == "local"
    assert one.without("a").current is None
    with pytest.raises(NotFound, match="there is no profile 'x'"):
        one.with_current("x")


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
        check_name(name)


@pytest.mark.parametrize(
    ("texts", "tuning"),
    [
        (["delay_s=1.5", "concurrency=8"], {"delay_s": 1.5, "concurrency": 8}),
        (["limits.max_pages=100", "max_errors=none"], {"limits": {"max_pages": 100, "max_errors": None}}),
        (["rate_per_s=null"], {"rate_per_s": None}),
    ],
)
def test_tuning_are_read_as_people_write_them(texts: list[str], tuning: dict[str, Any]) -> None:
    assert parse_tuning(texts) == tuning


@pytest.mark.parametrize(
    "text", ["delay_s", "delay=1", "concurrency=many", "concurrency=true", "limits=3", "=1"]
)
def test_an_unknown_or_malformed_setting_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid):
        parse_tuning([text])


def test_so_long_ago_is_a_moment() -> None:
    assert parse_time("10m", now=1_000_000.0) == "999400.000"
    assert parse_time("2026-01-31") == "2026-01-31"
    assert parse_time("1700000000") == "1700000000"
    assert parse_time(None) is None
    assert [parse_duration_s(text) for text in ("90", "90s", "1.5h", "1w")] == [90, 90, 5400, 604_800]
    with pytest.raises(RequestInvalid):
        parse_duration_s("soon")


def test_the_command_line_needs_a_place_for_everything_it_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["user", "list"]) == 3
    assert "there is no data folder here" in capsys.readouterr().err
