"""Settings of an installation: environment, `.env`, and files for secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.telemetry.logs import LEVELS

PREFIX = "SMARTSPIDER_"


class Settings(msgspec.Struct, frozen=True):
    """`SMARTSPIDER_ALLOW_PRIVATE`, `SMARTSPIDER_CONTACT`, `SMARTSPIDER_LOG_LEVEL`."""

    allow_private: str = ""
    contact: str = ""
    log_level: str = "info"


def read_settings(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Settings from the environment, and under them those of `.env` in the folder the command runs in."""
    dotenv = _read_dotenv((folder or Path.cwd()) / ".env")
    settings = Settings(**_found(dotenv) | _found(os.environ if environment is None else environment))
    if settings.log_level not in LEVELS:
        raise SettingInvalid(
            f"{PREFIX}LOG_LEVEL is {settings.log_level!r}", hint=f"one of {', '.join(LEVELS)}"
        )
    return settings


def _found(values: Mapping[str, str]) -> dict[str, str]:
    found = {name: _value(values, name) for name in Settings.__struct_fields__}
    return {name: value for name, value in found.items() if value is not None}


def _value(values: Mapping[str, str], name: str) -> str | None:
    key = PREFIX + name.upper()
    if key in values:
        return values[key]
    if f"{key}_FILE" not in values:
        return None
    path = Path(values[f"{key}_FILE"])
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{key}_FILE names {path}, which cannot be read: {error}") from error


def _read_dotenv(path: Path) -> dict[str, str]:
    """`NAME=value` lines; quotes around a value are taken off, comments and other lines are passed over."""
    if not path.is_file():
        return {}
    values = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, is_assignment, value = line.strip().removeprefix("export ").partition("=")
        if is_assignment and name.startswith(PREFIX):
            values[name.strip()] = value.strip().strip("'\"")
    return values
