"""`smartspider cookie grab`: which cookies it takes, and what it says when there are none."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import pbkdf2_hmac, sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from smartspider.cli.identities.browsers.profiles import find_profiles
from smartspider.cli.main import main

CANARY = "c4n4ry-7d"
NOW_S = int(time.time())
LATER_S = NOW_S + 86_400
FIREFOX = """
CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT,
value TEXT, host TEXT, path TEXT, expiry INTEGER, lastAccessed INTEGER, creationTime INTEGER,
isSecure INTEGER, isHttpOnly INTEGER, inBrowserElement INTEGER DEFAULT 0, sameSite INTEGER DEFAULT 0,
schemeMap INTEGER DEFAULT 0, isPartitionedAttributeSet INTEGER DEFAULT 0, updateTime INTEGER,
CONSTRAINT moz_uniqueid UNIQUE (name, host, path, originAttributes))
"""
CHROMIUM = """
CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
CREATE TABLE cookies(creation_utc INTEGER NOT NULL, host_key TEXT NOT NULL, top_frame_site_key TEXT NOT NULL,
name TEXT NOT NULL, value TEXT NOT NULL, encrypted_value BLOB NOT NULL, path TEXT NOT NULL,
expires_utc INTEGER NOT NULL, is_secure INTEGER NOT NULL, is_httponly INTEGER NOT NULL,
last_access_utc INTEGER NOT NULL, has_expires INTEGER NOT NULL, is_persistent INTEGER NOT NULL,
priority INTEGER NOT NULL, samesite INTEGER NOT NULL, source_scheme INTEGER NOT NULL,
source_port INTEGER NOT NULL, last_update_utc INTEGER NOT NULL, source_type INTEGER NOT NULL,
has_cross_site_ancestor INTEGER NOT NULL);
INSERT INTO meta VALUES ('version', '24');
"""
"""The tables as Firefox 153 and Chromium 156 make them."""

Grab = Callable[..., tuple[int, str]]


def firefox(folder: Path, *cookies: tuple[str, str, int, str], version: int = 13) -> sqlite3.Connection:
    """Write a profile of Firefox as it is while the browser runs: rows are in the write-ahead log, and the
    database is locked.
    """
    folder.mkdir(parents=True)
    connection = sqlite3.connect(folder / "cookies.sqlite")
    connection.executescript(f"PRAGMA journal_mode = WAL; PRAGMA user_version = {version}; {FIREFOX}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.executemany(
        "INSERT INTO moz_cookies (host, name, expiry, originAttributes, value, path, isSecure)"
        f" VALUES (?, ?, ?, ?, '{CANARY}', '/', 1)",
        cookies,
    )
    connection.commit()
    return connection


def encrypted(scheme: bytes, password: bytes) -> bytes:
    """Encrypt the value of a cookie for .site.example as Chromium does on Linux."""
    key = pbkdf2_hmac("sha1", password, b"saltysalt", 1, 16)
    padder = PKCS7(128).padder()
    text = padder.update(sha256(b".site.example").digest() + CANARY.encode()) + padder.finalize()
    cipher = Cipher(AES(key), CBC(b" " * 16)).encryptor()
    return scheme + cipher.update(text) + cipher.finalize()


def chromium(folder: Path, value: bytes, host: str = ".site.example") -> None:
    """Write a profile of Chromium with one cookie, whose value is encrypted as its first letters say."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "Cookies")) as connection:
        connection.executescript(CHROMIUM)
        expires = (LATER_S + 11_644_473_600) * 1_000_000
        row = (1, host, "", "sid", "", value, "/", expires, 1, 1, 1, 1, 1, 1, 1, 2, 443, 1, 1, 0)
        connection.execute(f"INSERT INTO cookies VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user, whose temporary folder is `tmp` beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))  # read once for a process
    return tmp_path / "home"


@pytest.fixture
def grab(home: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Grab]:
    """Runs the command; returns its exit code and output. No value may be there, or in a file of ours."""
    data = home.parent / "data"

    def run(*words: str, domain: str = "site.example") -> tuple[int, str]:
        code = main(["cookie", "grab", "--domain", domain, "--data", str(data), *words])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    yield run
    assert CANARY not in run("--json")[1]
    main(["cookie", "show", "1", "--data", str(data)])
    assert CANARY not in capsys.readouterr().out
    assert list((home.parent / "tmp").iterdir()) == []
    assert [one for one in data.rglob("*") if one.is_file() and CANARY.encode() in one.read_bytes()] == []


def stored(home: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the names that were stored."""
    assert main(["cookie", "show", "1", "--json", "--data", str(home.parent / "data")]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["names"]
    return found


def test_a_running_firefox_gives_the_cookies_of_the_domain_and_no_others(
    home: Path, grab: Grab, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / ".mozilla/firefox"
    firefox(folder / "old.profile", (".site.example", "old", LATER_S, "")).close()
    cookies = (
        (".site.example", "sid", LATER_S, ""),
        ("shop.site.example", "cart", LATER_S, ""),
        ("site.example", "gone", NOW_S - 9, ""),
        ("notsite.example", "foreign", LATER_S, ""),
        (".site.example", "partitioned", LATER_S, "^partitionKey=%28https%2Cother.example%29"),
        (".site.example", "contained", LATER_S, "^userContextId=2"),
    )
    with closing(firefox(folder / "ab12.default-release", *cookies)):
        (folder / "profiles.ini").write_text(
            "[Install4F96]\nDefault=ab12.default-release\nLocked=1\n\n"
            "[Profile1]\nName=default\nIsRelative=1\nPath=old.profile\nDefault=1\n\n"
            "[Profile0]\nName=default-release\nIsRelative=1\nPath=ab12.default-release\n"
        )
        assert grab() == (
            0,
            "cookies 1 for site.example from Firefox, profile ab12.default-release: 2 cookies"
            ' (1 expired left out), for "cookie_id": 1\n',
        )
        found = stored(home, capsys)
    assert [(one["name"], one["domain"], one["host_only"], one["secure"]) for one in found] == [
        ("cart", "shop.site.example", True, True),
        ("sid", "site.example", False, True),
    ]


def test_cookies_of_a_container_are_taken_where_no_others_are(
    home: Path, grab: Grab, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = home / "profile"
    cookies = (
        ("www.site.example", "sid", LATER_S * 1000, "^userContextId=3"),
        ("site.example", "elsewhere", LATER_S * 1000, "^userContextId=2"),
        (".site.example", "both", LATER_S * 1000, "^userContextId=3"),
    )
    with closing(firefox(profile, *cookies, version=16)):
        code, said = grab("--browser-profile", str(profile), "--json", domain=" .WWW.site.example")
        assert code == 0, said
        assert json.JSONDecoder().raw_decode(said)[0]["container"] == 3
        found = stored(home, capsys)
    assert [one["name"] for one in found] == ["both", "sid"]
    assert {one["expires_at"][:4] for one in found} <= {time.strftime("%Y", time.gmtime(LATER_S))}


def test_cookies_that_the_browser_moves_while_they_are_copied_are_not_lost(
    home: Path, grab: Grab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(firefox(home / "p", (".site.example", "sid", LATER_S, ""))) as browser:
        copyfile = shutil.copyfile

        def copied_slowly(source: str, target: str) -> None:
            copyfile(source, target)
            if (home / "p/cookies.sqlite-wal").stat().st_size:
                browser.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        monkeypatch.setattr("shutil.copyfile", copied_slowly)  # the browser decides when it writes
        code, printed = grab("--browser-profile", str(home / "p"))
    assert (code, "1 cookie, for" in printed) == (0, True), printed


def write_nothing(_home: Path) -> None:
    """There is no browser."""


def write_foreign(home: Path) -> None:
    firefox(home / ".mozilla/firefox/p", (".other.example", "sid", LATER_S, "")).close()
    (home / ".mozilla/firefox/profiles.ini").write_text("[Profile0]\nPath=p\n")
    chromium(home / ".config/chromium/Default", b"v10" + b"?" * 48, host="other.example")


def write_expired(home: Path) -> None:
    firefox(home / ".mozilla/firefox/p", (".site.example", "sid", NOW_S - 1, "")).close()
    (home / ".mozilla/firefox/profiles.ini").write_text("[Profile0]\nPath=p\n")


def write_damaged(home: Path) -> None:
    write_expired(home)
    (home / ".mozilla/firefox/p/cookies.sqlite").write_bytes(b"no database" * 99)


def write_app_bound(home: Path) -> None:
    chromium(home / ".config/google-chrome/Default", b"v20" + b"?" * 48)


@pytest.mark.parametrize(
    ("write", "code", "said"),
    [
        (write_nothing, 3, ("no profile of Chrome, Chromium, Firefox, Edge on this", "--browser-profile")),
        (write_foreign, 3, ("site.example in Chromium, profile Default; Firefox, profile p", "log in with")),
        (
            write_expired,
            3,
            ("all cookies for site.example in Firefox, profile p are expired", "log in again"),
        ),
        (write_damaged, 4, ("the cookies of Firefox, profile p cannot be read: ", "cookie upload")),
        (write_app_bound, 4, ("Chrome lets no other program decrypt the cookies of Def", "cookie upload")),
    ],
)
def test_a_browser_without_cookies_to_take_is_named_with_what_to_do(
    home: Path, grab: Grab, write: Callable[[Path], None], code: int, said: tuple[str, ...]
) -> None:
    write(home)
    ended, printed = grab()
    assert ended == code
    assert [part for part in said if part not in printed] == [], printed


@pytest.mark.parametrize("bus", [None, "", "unix:path=/no/such/bus"])
def test_cookies_whose_keyring_is_out_of_reach_are_refused_and_those_without_one_are_read(
    home: Path, grab: Grab, monkeypatch: pytest.MonkeyPatch, bus: str | None
) -> None:
    if bus is None:
        monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    else:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus)
    folder = home / "snap/chromium/common/chromium"
    chromium(folder / "Profile 2", encrypted(b"v11", b"the keyring's"))
    code, printed = grab()
    assert (code, "cannot decrypt the cookies of Chromium, profile Profile 2: the keyring" in printed) == (
        4,
        True,
    )
    chromium(folder / "Profile 3", encrypted(b"v10", b"peanuts"))
    code, printed = grab()
    assert (code, "from Chromium, profile Profile 3: 1 cookie, for" in printed) == (0, True), printed
    assert os.environ.get("DBUS_SESSION_BUS_ADDRESS") == bus


def test_the_package_that_decrypts_cookies_is_asked_for_only_when_it_is_needed(
    home: Path, grab: Grab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "browser_cookie3", None)
    chromium(home / ".config/microsoft-edge/Default", b"v10" + b"?" * 48)
    code, printed = grab("--browser", "edge")
    assert code == 2
    assert 'pip install "smartspider-crawler[browser-cookies]"' in printed
    with closing(firefox(home / "p", (".site.example", "sid", LATER_S, ""))):
        assert grab("--browser-profile", str(home / "p"))[0] == 0


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support/Firefox"), ("win32", "AppData/Roaming/Mozilla/Firefox")],
)
def test_profiles_are_found_where_each_platform_keeps_them(home: Path, platform: str, folder: str) -> None:
    firefox(home / folder / "Profiles/p").close()
    (home / folder / "profiles.ini").write_text("[Profile0]\nPath=Profiles/p\n")
    assert [one.title for one in find_profiles(["firefox"], platform)] == ["Firefox, profile p"]
