"""Settings of an installation, parsed once: `SMARTSPIDER_*` of the environment, `.env`, and files for
secrets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from smartspider.backends.sqlite.database import FILE
from smartspider.core.errors import SettingInvalid
from smartspider.core.limits.quotas import Quotas
from smartspider.core.limits.rate_limits import RateLimit
from smartspider.core.redaction.redactor import Redactor
from smartspider.core.workers.scaling import ScalingOptions
from smartspider.core.workers.watch import WatchLimits
from smartspider.dedup.url_filter import FilterMode
from smartspider.installation import setting_parsers as parse
from smartspider.installation.retention import Retention, parse_retention
from smartspider.installation.setting_parsers import MailServer, parse_mail_server

PREFIX = "SMARTSPIDER_"
VARIABLE = f"{PREFIX}VAR_"
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
REDIS = ("redis://", "rediss://", "redis+sentinel://", "redis+cluster://")
PROXIES = ("http://", "https://", "socks5://", "socks5h://")


class Settings(msgspec.Struct, frozen=True):
    """The settings of an installation. A field `x` is read from `SMARTSPIDER_X` unless it says otherwise."""

    allow_private: str = ""
    contact: str = ""
    log_level: str = "info"
    proxy: str = ""
    store_url: str = ""
    frontier_url: str = ""
    admin_token: str = ""
    """Accepted verbatim as an admin bearer token."""
    master_key: str = ""
    """The secret all keys are derived from; without it a data folder makes its own."""
    master_key_old: str = ""
    """The master key before, while the vault is rotated."""
    vault: str = ""
    """The data folder with the secrets of commands that a person runs; without it, the one of the server."""
    rate_limit: RateLimit = RateLimit(500.0, 1000.0)
    """API requests per second and burst, for each token."""
    max_body_bytes: int = 2_000_000
    """Maximum size of a request body of the API."""
    demo_shop: str = ""
    """The address of the demo shop that was started with the server."""
    schedule_interval: float = 60.0
    """Minimum seconds between two starts of a schedule."""
    quotas: Quotas = Quotas()
    """`QUOTA_TASKS`, `QUOTA_SCHEDULES`, `QUOTA_NOTIFICATIONS`, `QUOTA_TOKENS` and `QUOTA_RUNS`."""
    trusted_proxies: parse.Networks = ()
    """Proxies whose `X-Forwarded-*` headers are trusted."""
    tls_cert: str = ""
    tls_key: str = ""
    """Paths of PEM files; with both the API serves TLS."""
    retention: Retention = Retention()
    """`KEEP_LOGS` and `KEEP_RUNS`."""
    mail: MailServer | None = None
    """`SMTP_URL` and `MAIL_FROM`; None: no email is sent."""
    dedup: FilterMode = "off"
    """The URL filters that the workers of a cluster share."""
    dedup_memory: int = 256_000_000
    """Maximum size of each kind of URL filter."""
    scaling: ScalingOptions = ScalingOptions()
    """`SCALE_HORIZON`, `SCALE_DOWN_AFTER` and `SCALE_MAX`."""
    watch: WatchLimits = WatchLimits()
    """`STALL_S` and `WORKER_MEMORY`: when a worker process is killed."""
    metrics_address: tuple[str, int] | None = None
    """`METRICS_PORT`: host and port that serve metrics without a token."""
    files_folder: str = ""
    """The folder of downloaded files; without it they are in the data folder. The workers of a cluster share
    it.
    """
    gates_folder: str = ""
    """The folder of the gates that all crawls on this machine share; `off`: each data folder has its own."""
    server: str = ""
    """The server that commands talk to."""
    token: str = ""
    """The token they send."""
    profile: str = ""
    """The server profile they use."""
    variables: dict[str, str] = {}
    """`VAR_NAME`: the values of the secrets that tasks refer to as `${NAME}`."""

    @property
    def is_cluster(self) -> bool:
        """True if the store is PostgreSQL and the frontier Redis."""
        return self.store_url.startswith(POSTGRES)

    @property
    def data_folder(self) -> Path | None:
        """The data folder that `store_url` names, if any."""
        if self.is_cluster:
            return None
        path = Path(self.store_url.removeprefix(SQLITE))
        if path.name == FILE:
            return path.parent
        return path if path.name else None


_PARSERS: dict[str, Callable[[str], Any]] = {
    "allow_private": parse.private_addresses,
    "log_level": parse.log_level,
    "rate_limit": parse.rate_limit,
    "schedule_interval": parse.schedule_interval,
    "max_body_bytes": parse.body_limit,
    "trusted_proxies": parse.networks,
    "dedup": parse.dedup_mode,
    "dedup_memory": parse.dedup_memory,
}
"""Fields that are more than their text."""
_GROUPED = {
    "retention": ("keep_logs", "keep_runs"),
    "mail": ("smtp_url", "mail_from"),
    "scaling": ("scale_horizon", "scale_down_after", "scale_max"),
    "watch": ("stall_s", "worker_memory"),
    "metrics_address": ("metrics_port",),
    "quotas": tuple(f"quota_{kind}" for kind in Quotas.__struct_fields__),
    "variables": (),
}
"""Fields made of settings with other names."""
SETTING_NAMES: tuple[str, ...] = (
    *(name for name in Settings.__struct_fields__ if name not in _GROUPED),
    *(name for group in _GROUPED.values() for name in group),
)
"""Every setting, in lower case and without its prefix."""


def read_settings(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Read the environment, and `.env` of the current folder for what the environment does not set.

    Raises `SettingInvalid` for the first setting that cannot be used.
    """
    dotenv = _read_dotenv((folder or Path.cwd()) / ".env")
    environment = os.environ if environment is None else environment
    texts = {**_texts(dotenv), **_texts(environment)}
    fields: dict[str, Any] = {
        name: _PARSERS[name](text) if name in _PARSERS else text
        for name, text in texts.items()
        if name in Settings.__struct_fields__
    }
    if any(name in texts for name in _GROUPED["retention"]):
        fields["retention"] = parse_retention(*_group(texts, "retention"))
    if any(name in texts for name in _GROUPED["mail"]):
        fields["mail"] = parse_mail_server(*_group(texts, "mail"))
    if any(name in texts for name in _GROUPED["scaling"]):
        fields["scaling"] = parse.scaling(*_group(texts, "scaling"))
    if any(name in texts for name in _GROUPED["watch"]):
        fields["watch"] = parse.watch_limits(*_group(texts, "watch"))
    fields["quotas"] = parse.quotas(dict(zip(Quotas.__struct_fields__, _group(texts, "quotas"), strict=True)))
    fields["metrics_address"] = parse.metrics_address(texts.get("metrics_port", ""))
    fields["variables"] = {**_variables(dotenv), **_variables(environment)}
    settings = Settings(**fields)
    _check_proxy(settings)
    parse.check_tls(settings.tls_cert, settings.tls_key)
    _check_store(settings)
    _check_dedup(settings)
    return settings


def _group(texts: Mapping[str, str], name: str) -> list[str | None]:
    return [texts.get(one) for one in _GROUPED[name]]


def _check_proxy(settings: Settings) -> None:
    if settings.proxy and not settings.proxy.lower().startswith(PROXIES):
        raise SettingInvalid(  # the value is left out: it may hold a password
            f"{PREFIX}PROXY is not a proxy URL", hint=f"use a URL that starts with {' or '.join(PROXIES)}"
        )


def _check_dedup(settings: Settings) -> None:
    if settings.dedup != "off" and not settings.is_cluster:
        raise SettingInvalid(
            f"{PREFIX}DEDUP is {settings.dedup!r}, but only the workers of a cluster share URL filters",
            hint=f"unset {PREFIX}DEDUP: a data folder uses its own store",
        )


def _check_store(settings: Settings) -> None:
    # No message repeats a URL: it may hold a password.
    if settings.store_url and not settings.store_url.startswith((SQLITE, *POSTGRES)):
        raise SettingInvalid(
            f"{PREFIX}STORE_URL is not a store URL",
            hint=f"{SQLITE}FOLDER, or {POSTGRES[0]}USER:PASSWORD@HOST:5432/DATABASE",
        )
    if settings.frontier_url and not settings.frontier_url.startswith((SQLITE, *REDIS)):
        raise SettingInvalid(
            f"{PREFIX}FRONTIER_URL is not a frontier URL",
            hint=f"use a URL that starts with {' or '.join(REDIS)}",
        )
    if settings.is_cluster != settings.frontier_url.startswith(REDIS):
        names = ("STORE_URL", "FRONTIER_URL=redis://HOST:6379")
        if not settings.is_cluster:
            names = ("FRONTIER_URL", "STORE_URL=postgresql://USER:PASSWORD@HOST/DATABASE")
        half = "a PostgreSQL store" if settings.is_cluster else "a Redis frontier"
        raise SettingInvalid(
            f"{PREFIX}{names[0]} names {half}, which is only one half of a cluster",
            hint=f"set {PREFIX}{names[1]} as well, or unset both to use a data folder",
        )
    if not settings.is_cluster and settings.frontier_url not in ("", settings.store_url):
        raise SettingInvalid(
            f"{PREFIX}FRONTIER_URL and {PREFIX}STORE_URL name different folders",
            hint="set both to the same folder, or unset the frontier",
        )


def _texts(values: Mapping[str, str]) -> dict[str, str]:
    """Return the text of every setting that is given, by its lower-case name."""
    found = {name: _text(values, name) for name in SETTING_NAMES}
    return {name: text for name, text in found.items() if text is not None}


def _variables(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values of all variables, by name. A variable that ends in `_FILE` names a file."""
    keys = [key for key in values if key.startswith(VARIABLE)]
    names = {key.removeprefix(PREFIX).removesuffix("_FILE") for key in keys}
    found = {name.removeprefix("VAR_"): _text(values, name) for name in names}
    return {name: text for name, text in found.items() if name and text is not None}


def _text(values: Mapping[str, str], name: str) -> str | None:
    key = PREFIX + (name if name.startswith("VAR_") else name.upper())
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
    """Return the `NAME=value` lines of a file, quotes around values removed; other lines are ignored."""
    if not path.is_file():
        return {}
    values = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, is_assignment, value = line.strip().removeprefix("export ").partition("=")
        if is_assignment and name.startswith(PREFIX):
            values[name.strip()] = value.strip().strip("'\"")
    return values


def build_redactor(settings: Settings) -> Redactor:
    """Build a redactor that knows the secrets of the installation."""
    keys = (settings.master_key, settings.master_key_old)
    redactor = Redactor((settings.admin_token, *keys, *settings.variables.values()))
    if settings.mail is not None:
        redactor.pin(settings.mail.password)
    for url in (settings.proxy, settings.store_url, settings.frontier_url):
        redactor.pin_url(url)
    return redactor
