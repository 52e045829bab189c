"""The profiles file: servers by name with their tokens, readable only by its owner."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import msgspec

from smartspider.core.errors import NotFound, RequestInvalid, SettingInvalid, StoreUnavailable

LOCAL = "local"
"""Reserved name for the local data folders."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


class Profile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server's URL and credentials."""

    url: str
    token: str | None = None
    ca_file: str | None = None


class Profiles(msgspec.Struct, frozen=True, omit_defaults=True):
    """All profiles and the current one."""

    current: str | None = None
    servers: dict[str, Profile] = {}

    def get(self, name: str) -> Profile:
        """Return a profile; raise `NotFound` if there is none of this name."""
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise NotFound(
                f"there is no profile {name[:64]!r}",
                hint=f"`smartspider profile add NAME URL` adds one; known profiles: {known}",
            )
        return self.servers[name]

    def with_profile(self, name: str, profile: Profile) -> Profiles:
        """Return the profiles with one added or replaced; the first becomes current."""
        return Profiles(self.current or name, {**self.servers, name: profile})

    def without(self, name: str) -> Profiles:
        """Return the profiles without one."""
        self.get(name)
        left = {known: profile for known, profile in self.servers.items() if known != name}
        return Profiles(None if self.current == name else self.current, left)

    def with_current(self, name: str) -> Profiles:
        """Return the profiles with another one current."""
        if name != LOCAL:
            self.get(name)
        return Profiles(name, self.servers)


def check_name(name: str) -> str:
    """Return a name that is valid for a profile; raise `RequestInvalid` otherwise."""
    if not _NAME.match(name) or name == LOCAL:
        raise RequestInvalid(
            f"{name[:64]!r} is not a valid profile name",
            hint=f"use letters, digits, dots, dashes and _; {LOCAL!r} is reserved for local data folders",
        )
    return name


def profiles_file() -> Path:
    """Return the path of the profiles file, below `XDG_CONFIG_HOME` if that is set."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    home = given if given.is_absolute() else Path("~").expanduser() / ".config"
    return home / "smartspider" / "profiles.json"


def read_profiles() -> Profiles:
    """Read all profiles; none if the file does not exist."""
    path = profiles_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # not quoted: it holds tokens
        raise SettingInvalid(
            f"{path} is not a profiles file", hint="delete it and add the profiles again"
        ) from error


def write_profiles(profiles: Profiles) -> None:
    """Write the profiles with mode 0600; the file is replaced atomically."""
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
