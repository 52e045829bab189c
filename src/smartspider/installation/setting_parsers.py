"""Parsers of single settings. Each raises `SettingInvalid` with the setting's name and an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import get_args
from urllib.parse import unquote, urlsplit

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.core.limits.quotas import Quotas
from smartspider.core.limits.rate_limits import RateLimit, parse_rate
from smartspider.core.logs import LEVELS
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.workers.scaling import ScalingOptions
from smartspider.core.workers.watch import WatchLimits
from smartspider.dedup.url_filter import FilterMode

Networks = tuple[IPv4Network | IPv6Network, ...]
DEDUP_MODES: tuple[FilterMode, ...] = get_args(FilterMode)

MIN_BODY_BYTES = 1_000
MAX_BODY_BYTES = 100_000_000
MAX_WORKERS = 100_000
MIN_WORKER_MEMORY = 200_000_000
STALL_S = (1, 50)
"""Shortest and longest time to read a page: a lease (60 s) is not renewed meanwhile."""
MAX_QUOTA = 1_000_000

_DURATION = re.compile(r"([0-9]{1,7})([smh]?)", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_MEMORY = re.compile(r"([0-9]{1,6}) ?(MB|GB)", re.IGNORECASE)


def private_addresses(text: str) -> str:
    """Check `SMARTSPIDER_ALLOW_PRIVATE`; a policy is parsed from it where it is known who asks."""
    AddressPolicy.parse(text)
    return text


def log_level(text: str) -> str:
    """Parse `SMARTSPIDER_LOG_LEVEL`."""
    if text not in LEVELS:
        raise SettingInvalid(f"SMARTSPIDER_LOG_LEVEL is {text!r}", hint=f"use one of {', '.join(LEVELS)}")
    return text


def rate_limit(text: str) -> RateLimit:
    """Parse `SMARTSPIDER_RATE_LIMIT`: requests per second and burst, for each token."""
    try:
        return parse_rate(text)
    except ValueError:
        raise SettingInvalid(
            f"SMARTSPIDER_RATE_LIMIT is {text[:40]!r}",
            hint="write RATE or RATE/BURST, such as 500/1000; 0 means no limit",
        ) from None


def quotas(texts: Mapping[str, str | None]) -> Quotas:
    """Parse the `SMARTSPIDER_QUOTA_` settings; None keeps a default."""
    found = {}
    for kind, text in texts.items():
        if text is None:
            continue
        if not text.isascii() or not text.isdecimal() or int(text[:12]) > MAX_QUOTA:
            raise SettingInvalid(
                f"SMARTSPIDER_QUOTA_{kind.upper()} is {text[:40]!r}",
                hint=f"use a number up to {MAX_QUOTA}; 0 means no limit",
            )
        found[kind] = int(text)
    return Quotas(**found)


def schedule_interval(text: str) -> float:
    """Parse `SMARTSPIDER_SCHEDULE_INTERVAL`."""
    return _duration("SCHEDULE_INTERVAL", text)


def networks(text: str) -> Networks:
    """Parse `SMARTSPIDER_TRUSTED_PROXIES`: addresses and CIDRs, separated by commas."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            found.append(ip_network(part, strict=False))
        except ValueError:
            raise SettingInvalid(
                f"SMARTSPIDER_TRUSTED_PROXIES contains {part[:60]!r}",
                hint="write addresses or CIDRs separated by commas, such as 10.0.0.0/8,::1",
            ) from None
    return tuple(found)


def body_limit(text: str) -> int:
    """Parse `SMARTSPIDER_MAX_BODY_BYTES`."""
    if not text.isascii() or not text.isdecimal() or not MIN_BODY_BYTES <= int(text[:12]) <= MAX_BODY_BYTES:
        raise SettingInvalid(
            f"SMARTSPIDER_MAX_BODY_BYTES is {text[:40]!r}",
            hint=f"use a number of bytes from {MIN_BODY_BYTES} to {MAX_BODY_BYTES}",
        )
    return int(text)


def metrics_address(text: str) -> tuple[str, int] | None:
    """Parse `SMARTSPIDER_METRICS_PORT`: PORT on the loopback interface, or HOST:PORT; empty: None."""
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port[:6]) > 65_535:
        raise SettingInvalid(
            f"SMARTSPIDER_METRICS_PORT is {text[:60]!r}",
            hint="write PORT or HOST:PORT, such as 9100 or 0.0.0.0:9100",
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def dedup_mode(text: str) -> FilterMode:
    """Parse `SMARTSPIDER_DEDUP`."""
    for mode in DEDUP_MODES:
        if text == mode:
            return mode
    raise SettingInvalid(f"SMARTSPIDER_DEDUP is {text!r}", hint=f"use one of {', '.join(DEDUP_MODES)}")


def dedup_memory(text: str) -> int:
    """Parse `SMARTSPIDER_DEDUP_MEMORY` to bytes."""
    size = _memory(text)
    if not size:
        raise SettingInvalid(
            f"SMARTSPIDER_DEDUP_MEMORY is {text[:40]!r}", hint="use 1MB or more, such as 256MB or 2GB"
        )
    return size


def watch_limits(stall: str | None, memory: str | None) -> WatchLimits:
    """Parse `SMARTSPIDER_STALL_S` and `SMARTSPIDER_WORKER_MEMORY`; None keeps a default."""
    usual = WatchLimits()
    return WatchLimits(
        usual.stall_s if stall is None else _stall_s(stall),
        usual.memory if memory is None else _worker_memory(memory),
    )


def _stall_s(text: str) -> float:
    shortest, longest = STALL_S
    if not text.isascii() or not text.isdecimal() or not shortest <= int(text[:4]) <= longest:
        raise SettingInvalid(
            f"SMARTSPIDER_STALL_S is {text[:40]!r}", hint=f"use seconds from {shortest} to {longest}"
        )
    return float(text)


def _worker_memory(text: str) -> int:
    size = _memory(text)
    if size < MIN_WORKER_MEMORY:
        raise SettingInvalid(
            f"SMARTSPIDER_WORKER_MEMORY is {text[:40]!r}", hint="use 200MB or more, such as 500MB or 2GB"
        )
    return size


def _memory(text: str) -> int:
    """Return a size such as `256MB` in bytes; 0 if it is none."""
    found = _MEMORY.fullmatch(text.strip())
    return 0 if found is None else int(found[1]) * (10**6 if found[2].upper() == "MB" else 10**9)


def scaling(horizon: str | None, down_after: str | None, most: str | None) -> ScalingOptions:
    """Parse `SMARTSPIDER_SCALE_HORIZON`, `_SCALE_DOWN_AFTER` and `_SCALE_MAX`; None keeps a default."""
    usual = ScalingOptions()
    return ScalingOptions(
        usual.horizon_s if horizon is None else _duration("SCALE_HORIZON", horizon),
        usual.stabilization_s if down_after is None else _duration("SCALE_DOWN_AFTER", down_after),
        usual.max_workers if most is None else _max_workers(most),
    )


def _duration(name: str, text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise SettingInvalid(f"SMARTSPIDER_{name} is {text[:40]!r}", hint="use a duration such as 60s or 5m")
    return int(found[1]) * _SECONDS[found[2]]


def _max_workers(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= MAX_WORKERS:
        raise SettingInvalid(
            f"SMARTSPIDER_SCALE_MAX is {text[:40]!r}", hint=f"use a number from 1 to {MAX_WORKERS}"
        )
    return int(text)


def check_tls(cert: str, key: str) -> None:
    """Check `SMARTSPIDER_TLS_CERT` and `SMARTSPIDER_TLS_KEY`: both or neither, and existing files."""
    if bool(cert) != bool(key):
        raise SettingInvalid(
            "only one of SMARTSPIDER_TLS_CERT and SMARTSPIDER_TLS_KEY is set",
            hint="set both to the paths of PEM files, or neither",
        )
    for name, path in (("CERT", cert), ("KEY", key)):
        if path and not Path(path).is_file():
            raise SettingInvalid(f"SMARTSPIDER_TLS_{name} names {path}, which is not a file")


_PORTS = {"smtp": 587, "smtps": 465}


class MailServer(msgspec.Struct, frozen=True):
    """An SMTP server that accepts mail, and the sender it is given."""

    host: str
    port: int
    is_tls: bool
    sender: str
    user: str = ""
    password: str = ""


def parse_mail_server(url: str | None, sender: str | None) -> MailServer | None:
    """Parse `SMARTSPIDER_SMTP_URL` (`smtp[s]://[user:password@]host[:port]`) and `SMARTSPIDER_MAIL_FROM`."""
    if not url and not sender:
        return None
    parsed = _server(url or "", sender or "") if url else None
    if parsed is None or not sender:
        raise SettingInvalid(
            "only one of SMARTSPIDER_SMTP_URL and SMARTSPIDER_MAIL_FROM is set", hint="set both, or neither"
        )
    return parsed


def _server(url: str, sender: str) -> MailServer:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
        raise SettingInvalid(  # the value is left out: it may hold a password
            "SMARTSPIDER_SMTP_URL is not the URL of a mail server",
            hint="use smtp://user:password@host:587, or smtps:// for TLS from the start",
        )
    return MailServer(
        parts.hostname,
        port or _PORTS[parts.scheme],
        parts.scheme == "smtps",
        sender,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )
