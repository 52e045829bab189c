"""Settings of an installation: environment, `.env`, and files for secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from smartspider.backends.sqlite.database import FILE
from smartspider.core.errors import SettingInvalid
from smartspider.telemetry.logs import LEVELS
from smartspider.wiring import seen, server_settings

PREFIX = "SMARTSPIDER_"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
REDIS = ("redis://", "rediss://", "redis+sentinel://", "redis+cluster://")
PROXIES = ("http://", "https://", "socks5://", "socks5h://")


class Settings(msgspec.Struct, frozen=True):
    """`SMARTSPIDER_ALLOW_PRIVATE`, `SMARTSPIDER_CONTACT` and so on, by the names of the fields."""

    allow_private: str = ""
    contact: str = ""
    log_level: str = "info"
    proxy: str = ""
    store_url: str = ""
    frontier_url: str = ""
    admin_token: str = ""
    """Accepted as it is as the bearer token of an admin."""
    master_key: str = ""
    """What all keys of the installation are derived from; without it one is made in the data folder."""
    rate_limit: str = "500/1000"
    """Requests a second for each token, and how many at once."""
    max_body_bytes: str = "2000000"
    """How much one request may bring."""
    trusted_proxies: str = ""
    """Addresses whose word about where a request came from counts."""
    tls_cert: str = ""
    tls_key: str = ""
    """Paths of PEM files; with both the API speaks TLS."""
    keep_logs: str = "1GB,30d"
    """How many bytes of log lines and for how long, or `forever`."""
    keep_runs: str = "forever"
    """How long finished runs are kept with their rows, or how many of each task, or both: `90d,100`."""
    keep_events: str = "10000"
    """How many of the newest events of a run."""
    smtp_url: str = ""
    """`smtp[s]://user:password@host:port`: where notices by email are handed in."""
    mail_from: str = ""
    """The sender of these."""
    dedup: str = "off"
    """What workers of a cluster share of known URLs: `off`, `exact` or `exact+bloom`."""
    dedup_memory: str = "256MB"
    """How much each kind of this may take."""
    scale_horizon: str = "60s"
    """In this time the backlog should be fetched: so many workers are wanted."""
    scale_down_after: str = "60s"
    """Fewer workers are wanted when fewer were enough for so long."""
    scale_max: str = "256"
    """More workers are never wanted."""
    metrics_port: str = ""
    """Where metrics are told without a token: PORT or HOST:PORT; nothing: nowhere."""
    server: str = ""
    """The server that commands speak to."""
    token: str = ""
    """What they come with."""
    profile: str = ""
    """The server that commands speak to, by the name it was given."""

    @property
    def is_cluster(self) -> bool:
        """Whether the store is a PostgreSQL, and the frontier a Redis."""
        return self.store_url.startswith(POSTGRES)

    @property
    def data_folder(self) -> Path | None:
        """The data folder that the store's URL names, if it names one."""
        if self.is_cluster:
            return None
        place = Path(self.store_url.removeprefix(SQLITE))
        if place.name == FILE:
            return place.parent
        return place if place.name else None


def read_settings(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Settings from the environment, and under them those of `.env` in the folder the command runs in."""
    dotenv = _read_dotenv((folder or Path.cwd()) / ".env")
    settings = Settings(**_found(dotenv) | _found(os.environ if environment is None else environment))
    if settings.log_level not in LEVELS:
        raise SettingInvalid(
            f"{PREFIX}LOG_LEVEL is {settings.log_level!r}", hint=f"one of {', '.join(LEVELS)}"
        )
    if settings.proxy and not settings.proxy.lower().startswith(PROXIES):
        raise SettingInvalid(  # not repeated: it may have a password
            f"{PREFIX}PROXY is not the URL of a proxy", hint=f"it begins with {' or '.join(PROXIES)}"
        )
    server_settings.rate_of(settings.rate_limit)
    server_settings.body_limit_of(settings.max_body_bytes)
    server_settings.networks_of(settings.trusted_proxies)
    server_settings.metrics_address_of(settings.metrics_port)
    server_settings.check_tls(settings.tls_cert, settings.tls_key)
    server_settings.check_keeping(settings.keep_logs, settings.keep_runs, settings.keep_events)
    server_settings.check_mail(settings.smtp_url, settings.mail_from)
    _check_store(settings)
    _check_dedup(settings)
    server_settings.check_scaling(settings.scale_horizon, settings.scale_down_after, settings.scale_max)
    return settings


def _check_dedup(settings: Settings) -> None:
    mode = seen.mode_of(settings.dedup)
    seen.memory_of(settings.dedup_memory)
    if mode != "off" and not settings.is_cluster:
        raise SettingInvalid(
            f"{seen.SETTING} is {mode!r}, and only workers of a cluster share known URLs",
            hint="leave it out: a data folder asks its own store",
        )


def _check_store(settings: Settings) -> None:
    # No URL is repeated: it may have a password.
    if settings.store_url and not settings.store_url.startswith((SQLITE, *POSTGRES)):
        raise SettingInvalid(
            f"{PREFIX}STORE_URL is not the URL of a store",
            hint=f"{SQLITE}FOLDER, or {POSTGRES[0]}USER:PASSWORD@HOST:5432/DATABASE",
        )
    if settings.frontier_url and not settings.frontier_url.startswith((SQLITE, *REDIS)):
        raise SettingInvalid(
            f"{PREFIX}FRONTIER_URL is not the URL of a frontier", hint=f"it begins with {' or '.join(REDIS)}"
        )
    if settings.is_cluster != settings.frontier_url.startswith(REDIS):
        names = ("STORE_URL", "FRONTIER_URL=redis://HOST:6379")
        if not settings.is_cluster:
            names = ("FRONTIER_URL", "STORE_URL=postgresql://USER:PASSWORD@HOST/DATABASE")
        is_lone = "a PostgreSQL store" if settings.is_cluster else "a Redis frontier"
        raise SettingInvalid(
            f"{is_lone} is one half of a cluster ({PREFIX}{names[0]}), and the other is not set",
            hint=f"set {PREFIX}{names[1]} as well; or leave both out to work in a folder",
        )
    if not settings.is_cluster and settings.frontier_url not in ("", settings.store_url):
        raise SettingInvalid(
            f"{PREFIX}FRONTIER_URL names another folder than {PREFIX}STORE_URL",
            hint="set both alike, or leave the frontier out",
        )


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
