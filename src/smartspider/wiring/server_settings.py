"""Settings of the server, checked: how often, from where, and behind what."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from smartspider.core.buckets import Rate, parse_rate
from smartspider.core.errors import SettingInvalid

Networks = tuple[IPv4Network | IPv6Network, ...]

SMALLEST_BODY = 1_000
LARGEST_BODY = 100_000_000
MOST_WORKERS = 100_000

_TIME = re.compile(r"([0-9]{1,7})([smh]?)", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def rate_of(text: str) -> Rate:
    """`SMARTSPIDER_RATE_LIMIT`: requests a second for each token, and how many at once."""
    try:
        return parse_rate(text)
    except ValueError:
        raise SettingInvalid(
            f"SMARTSPIDER_RATE_LIMIT is {text[:40]!r}",
            hint="write RATE or RATE/BURST, as 500/1000; 0 is none",
        ) from None


def networks_of(text: str) -> Networks:
    """`SMARTSPIDER_TRUSTED_PROXIES`: addresses whose word about the caller counts."""
    networks = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError:
            raise SettingInvalid(
                f"SMARTSPIDER_TRUSTED_PROXIES names {part[:60]!r}",
                hint="write addresses or CIDRs with commas between, as 10.0.0.0/8,::1",
            ) from None
    return tuple(networks)


def body_limit_of(text: str) -> int:
    """`SMARTSPIDER_MAX_BODY_BYTES`: how much one request may bring."""
    if not text.isascii() or not text.isdecimal() or not SMALLEST_BODY <= int(text[:12]) <= LARGEST_BODY:
        raise SettingInvalid(
            f"SMARTSPIDER_MAX_BODY_BYTES is {text[:40]!r}",
            hint=f"a number of bytes from {SMALLEST_BODY} to {LARGEST_BODY}",
        )
    return int(text)


def metrics_address_of(text: str) -> tuple[str, int] | None:
    """`SMARTSPIDER_METRICS_PORT`: a port of this machine alone, or HOST:PORT; nothing is none."""
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port[:6]) > 65_535:
        raise SettingInvalid(
            f"SMARTSPIDER_METRICS_PORT is {text[:60]!r}",
            hint="write PORT or HOST:PORT, as 9100 or 0.0.0.0:9100",
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def check_tls(cert: str, key: str) -> None:
    """`SMARTSPIDER_TLS_CERT` and `SMARTSPIDER_TLS_KEY`: both or none, and files that can be read."""
    if bool(cert) != bool(key):
        raise SettingInvalid(
            "of SMARTSPIDER_TLS_CERT and SMARTSPIDER_TLS_KEY only one is set",
            hint="set both to the paths of PEM files, or none",
        )
    for name, path in (("CERT", cert), ("KEY", key)):
        if path and not Path(path).is_file():
            raise SettingInvalid(f"SMARTSPIDER_TLS_{name} names {path}, which is not a file")


def check_keeping(logs: str, runs: str, events: str) -> None:
    """`SMARTSPIDER_KEEP_LOGS`, `_KEEP_RUNS` and `_KEEP_EVENTS`."""
    if (logs, runs, events) != ("1GB,30d", "forever", "10000"):  # else nothing need be imported
        from smartspider.services.retention import read_retention

        read_retention(logs, runs, events)


def check_mail(url: str, sender: str) -> None:
    """`SMARTSPIDER_SMTP_URL` and `SMARTSPIDER_MAIL_FROM`: both or none."""
    if not url and not sender:
        return
    from smartspider.services.mail import read_mail_server

    read_mail_server(url)
    if not url or not sender:
        raise SettingInvalid(
            "of SMARTSPIDER_SMTP_URL and SMARTSPIDER_MAIL_FROM only one is set", hint="set both, or none"
        )


def check_scaling(horizon: str, down_after: str, most: str) -> None:
    """`SMARTSPIDER_SCALE_HORIZON`, `_SCALE_DOWN_AFTER` and `_SCALE_MAX`."""
    seconds_of("SCALE_HORIZON", horizon)
    seconds_of("SCALE_DOWN_AFTER", down_after)
    most_workers_of(most)


def seconds_of(name: str, text: str) -> float:
    """A time of a second or more: `60s`, `5m`, `1h`, or seconds."""
    found = _TIME.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise SettingInvalid(f"SMARTSPIDER_{name} is {text[:40]!r}", hint="a time, as 60s or 5m")
    return int(found[1]) * _SECONDS[found[2]]


def most_workers_of(text: str) -> int:
    """`SMARTSPIDER_SCALE_MAX`: more workers are never wanted."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_WORKERS:
        raise SettingInvalid(
            f"SMARTSPIDER_SCALE_MAX is {text[:40]!r}", hint=f"a number from 1 to {MOST_WORKERS}"
        )
    return int(text)
