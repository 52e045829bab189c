"""Servers by name, kept for the person at the terminal. What is a secret stays in its file."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import msgspec

from smartspider.core.errors import NotFound, RequestInvalid, SettingInvalid, StoreUnavailable

LOCAL = "local"
"""The name that stands for the data folders here."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


class Profile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server, and what one comes with."""

    url: str
    token: str | None = None
    ca_file: str | None = None


class Profiles(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of them, and which one is meant where none is named."""

    current: str | None = None
    servers: dict[str, Profile] = {}

    def get(self, name: str) -> Profile:
        """The one by this name."""
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise NotFound(
                f"there is no profile {name[:64]!r}",
                hint=f"`smartspider profile add NAME URL` makes one; there are: {known}",
            )
        return self.servers[name]

    def with_one(self, name: str, profile: Profile) -> Profiles:
        """The same and another one; the first is meant from now on."""
        return Profiles(self.current or name, {**self.servers, name: profile})

    def without(self, name: str) -> Profiles:
        """The same but one."""
        self.get(name)
        left = {known: profile for known, profile in self.servers.items() if known != name}
        return Profiles(None if self.current == name else self.current, left)

    def using(self, name: str) -> Profiles:
        """The same, with another one meant."""
        if name != LOCAL:
            self.get(name)
        return Profiles(name, self.servers)


def checked_name(name: str) -> str:
    """A name that a profile may have."""
    if not _NAME.match(name) or name == LOCAL:
        raise RequestInvalid(
            f"{name[:64]!r} cannot be the name of a profile",
            hint=f"letters, digits, dots, dashes and _; {LOCAL!r} means the data folders here",
        )
    return name


def profiles_file() -> Path:
    """Where they are kept."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    home = given if given.is_absolute() else Path("~").expanduser() / ".config"
    return home / "smartspider" / "profiles.json"


def read_profiles() -> Profiles:
    """All profiles; none where there is no file."""
    path = profiles_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # not repeated: there are tokens in it
        raise SettingInvalid(
            f"{path} does not hold profiles", hint="delete it and add the servers again"
        ) from error


def write_profiles(profiles: Profiles) -> None:
    """Keep profiles, for the eyes of their owner alone; the file is whole at any time."""
    path = profiles_file()
    new = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(profiles), indent=2) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}") from error
