"""The mail server of an installation."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

from smartspider.core.errors import SettingInvalid

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
