"""Where browsers keep their profiles."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

TITLES = {"chrome": "Chrome", "chromium": "Chromium", "firefox": "Firefox", "edge": "Edge"}
"""The browsers, in the order in which they are looked into."""
FIREFOX_FILE = "cookies.sqlite"
CHROMIUM_FILES = ("Network/Cookies", "Cookies")

_FOLDERS: dict[str, dict[str, tuple[str, ...]]] = {
    "linux": {
        "chrome": ("~/.config/google-chrome", "~/.var/app/com.google.Chrome/config/google-chrome"),
        "chromium": (
            "~/.config/chromium",
            "~/snap/chromium/common/chromium",
            "~/.var/app/org.chromium.Chromium/config/chromium",
        ),
        "firefox": (
            "~/.mozilla/firefox",
            "~/.config/mozilla/firefox",
            "~/snap/firefox/common/.mozilla/firefox",
            "~/.var/app/org.mozilla.firefox/.mozilla/firefox",
            "~/.var/app/org.mozilla.firefox/config/mozilla/firefox",
        ),
        "edge": ("~/.config/microsoft-edge", "~/.var/app/com.microsoft.Edge/config/microsoft-edge"),
    },
    "darwin": {
        "chrome": ("~/Library/Application Support/Google/Chrome",),
        "chromium": ("~/Library/Application Support/Chromium",),
        "firefox": ("~/Library/Application Support/Firefox",),
        "edge": ("~/Library/Application Support/Microsoft Edge",),
    },
    "win32": {
        "chrome": ("~/AppData/Local/Google/Chrome/User Data",),
        "chromium": ("~/AppData/Local/Chromium/User Data",),
        "firefox": ("~/AppData/Roaming/Mozilla/Firefox",),
        "edge": ("~/AppData/Local/Microsoft/Edge/User Data",),
    },
}


class BrowserProfile(msgspec.Struct, frozen=True):
    """A profile of a browser."""

    browser: str
    name: str
    cookies: Path
    """The database with its cookies."""

    @property
    def title(self) -> str:
        """Browser and profile, for messages."""
        return f"{TITLES[self.browser]}, profile {self.name}"


def find_profiles(browsers: Iterable[str], platform: str = sys.platform) -> list[BrowserProfile]:
    """Return the profiles of browsers where they keep them on this platform, the default ones first."""
    folders = _FOLDERS.get(platform, _FOLDERS["linux"])
    return [
        profile
        for browser in browsers
        for folder in folders[browser]
        for profile in profiles_in(browser, _expanded(folder))
    ]


def profiles_in(browser: str, folder: Path) -> list[BrowserProfile]:
    """Return the profiles of a browser in a folder, which may be a profile itself."""
    inside = _firefox_folders(folder) if browser == "firefox" else _chromium_folders(folder)
    files = (FIREFOX_FILE,) if browser == "firefox" else CHROMIUM_FILES
    found: dict[Path, BrowserProfile] = {}
    for path in (folder, *inside):
        cookies = next((path / file for file in files if (path / file).is_file()), None)
        if cookies is not None:
            found.setdefault(path.resolve(), BrowserProfile(browser, path.name, cookies))
    return list(found.values())


def _expanded(folder: str) -> Path:
    config = os.environ.get("XDG_CONFIG_HOME")
    if config and folder.startswith("~/.config/"):
        return Path(config, folder.removeprefix("~/.config/"))
    return Path(folder).expanduser()


def _chromium_folders(folder: Path) -> list[Path]:
    return [folder / "Default", *sorted(folder.glob("Profile *"))]


def _firefox_folders(folder: Path) -> Iterator[Path]:
    """Yield the profiles that profiles.ini names: first those that an installation starts with."""
    read = configparser.RawConfigParser(strict=False)
    try:
        read.read(folder / "profiles.ini", encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return
    sections = [read[name] for name in read.sections()]
    profiles = [one for one in sections if one.name.startswith("Profile") and "path" in one]
    profiles.sort(key=lambda one: one.get("default") != "1")
    yield from (
        folder / one["default"] for one in sections if one.name.startswith("Install") and "default" in one
    )
    yield from (folder / one["path"] for one in profiles)
