"""Settings of an installation: environment, `.env`, files for secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.core.errors import SettingInvalid
from smartspider.core.redaction.redactor import REDACTED
from smartspider.installation.settings import Settings, build_redactor, read_settings


def read(folder: Path, dotenv: str = "", **environment: str) -> Settings:
    if dotenv:
        (folder / ".env").write_text(dotenv, encoding="utf-8")
    return read_settings({f"SMARTSPIDER_{name}": value for name, value in environment.items()}, folder)


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert read(tmp_path) == Settings(allow_private="", contact="", log_level="info")


def test_the_environment_is_read(tmp_path: Path) -> None:
    settings = read(tmp_path, ALLOW_PRIVATE="1", CONTACT="me@site.example", LOG_LEVEL="debug", OTHER="x")
    assert settings == Settings("1", "me@site.example", "debug")


def test_a_dotenv_is_read_with_quotes_exports_and_comments(tmp_path: Path) -> None:
    text = (
        "# SMARTSPIDER_CONTACT=commented\n\nPATH=/nowhere\nnot an assignment\n"
        "export SMARTSPIDER_LOG_LEVEL='warning'\n  SMARTSPIDER_CONTACT = \"a=b@site.example\"  \n"
    )
    assert read(tmp_path, text) == Settings("", "a=b@site.example", "warning")


def test_the_environment_wins_over_the_dotenv(tmp_path: Path) -> None:
    settings = read(
        tmp_path, "SMARTSPIDER_CONTACT=file\nSMARTSPIDER_LOG_LEVEL=error\n", CONTACT="environment"
    )
    assert settings == Settings("", "environment", "error")


def test_a_value_can_stand_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(" me@site.example\n")
    assert read(tmp_path, CONTACT_FILE=str(secret)).contact == "me@site.example"
    assert read(tmp_path, f"SMARTSPIDER_CONTACT_FILE={secret}\n").contact == "me@site.example"
    assert read(tmp_path, CONTACT_FILE=str(secret), CONTACT="plain").contact == "plain"


def test_a_file_named_by_the_environment_wins_over_the_dotenv(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("environment")
    assert read(tmp_path, "SMARTSPIDER_CONTACT=dotenv\n", CONTACT_FILE=str(secret)).contact == "environment"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingInvalid, match=r"CONTACT_FILE names .*secret, which cannot be read"):
        read(tmp_path, CONTACT_FILE=str(path))


def test_private_addresses_that_cannot_be_read_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_ALLOW_PRIVATE"):
        read(tmp_path, ALLOW_PRIVATE="10.0.0.0/99")


@pytest.mark.parametrize("level", ["loud", "INFO", ""])
def test_a_level_that_means_nothing_is_refused_with_those_there_are(tmp_path: Path, level: str) -> None:
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_LOG_LEVEL is") as caught:
        read(tmp_path, LOG_LEVEL=level)
    assert caught.value.hint.endswith("debug, info, warning, error")


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("STORE_URL", "redis://me:secret@h", "STORE_URL is not a store URL"),
        ("STORE_URL", "sqlite://secret", "STORE_URL is not a store URL"),
        ("STORE_URL", "mysql://me:secret@h/db", "STORE_URL is not a store URL"),
        ("FRONTIER_URL", "postgresql://me:secret@h/db", "FRONTIER_URL is not a frontier URL"),
        ("FRONTIER_URL", "secret", "FRONTIER_URL is not a frontier URL"),
        (
            "STORE_URL",
            "postgresql://me:secret@h/db",
            "a PostgreSQL store, which is only one half",
        ),
        (
            "STORE_URL",
            "postgres://me:secret@h/db",
            "a PostgreSQL store, which is only one half",
        ),
        (
            "FRONTIER_URL",
            "redis://me:secret@h",
            "a Redis frontier, which is only one half",
        ),
    ],
)
def test_what_is_no_store_or_half_a_cluster_is_refused_without_telling_its_password(
    tmp_path: Path, name: str, url: str, message: str
) -> None:
    with pytest.raises(SettingInvalid, match=message) as caught:
        read(tmp_path, **{name: url})
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    "frontier",
    [
        "redis://h",
        "rediss://me:secret@h:6380/2",
        "redis+sentinel://a,b,c/main",
        "redis+cluster://a:1,b:2",
    ],
)
def test_postgres_and_redis_together_are_a_cluster(tmp_path: Path, frontier: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("postgresql://me:secret@h/db\n")
    settings = read(tmp_path, STORE_URL_FILE=str(secret), FRONTIER_URL=frontier)
    assert settings.is_cluster
    assert settings.data_folder is None
    assert not read(tmp_path, STORE_URL="sqlite:///data").is_cluster


def test_no_password_of_a_cluster_is_told(tmp_path: Path) -> None:
    settings = read(tmp_path, STORE_URL="postgresql://me:secret1@h/db", FRONTIER_URL="redis://:secret2@h")
    assert build_redactor(settings).text("secret1 and secret2") == f"{REDACTED} and {REDACTED}"


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("", None),
        ("sqlite:///", None),
        ("sqlite:///some/data", Path("some/data")),
        ("sqlite:////var/data/", Path("/var/data")),
        ("sqlite:///some/data/smartspider.db", Path("some/data")),
        ("sqlite:///smartspider.db", Path()),
    ],
)
def test_a_sqlite_store_is_a_data_folder(tmp_path: Path, url: str, folder: Path | None) -> None:
    assert read(tmp_path, STORE_URL=url).data_folder == folder


def test_the_frontier_is_where_the_store_is(tmp_path: Path) -> None:
    assert read(tmp_path, STORE_URL="sqlite:///a", FRONTIER_URL="sqlite:///a").data_folder == Path("a")
    for store in ("sqlite:///b", ""):
        with pytest.raises(SettingInvalid, match="name different folders"):
            read(tmp_path, STORE_URL=store, FRONTIER_URL="sqlite:///a")


def test_the_process_environment_and_folder_are_used_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("SMARTSPIDER_CONTACT=here\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMARTSPIDER_LOG_LEVEL", "error")
    assert (read_settings().contact, read_settings().log_level) == ("here", "error")
