"""Settings of the server, checked: how often, from where, and behind what."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from smartspider.core.buckets import Rate, parse_rate
from smartspider.core.errors import SettingInvalid

Networks = tuple[IPv4Network | IPv6Network, ...]

SMALLEST_BODY = 1_000
LARGEST_BODY = 100_000_000


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
