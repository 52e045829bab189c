"""Notices by email, over the mail server of the settings."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from smartspider.core.errors import SettingInvalid, Undelivered
from smartspider.core.notices import SET_MAIL, NoticeTarget
from smartspider.services.post import Letter

TIMEOUT_S = 10.0
_PORTS = {"smtp": 587, "smtps": 465}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HAPPENED = {
    "run.finished": "finished",
    "run.failed": "failed",
    "run.paused": "paused",
    "run.few_rows": "has far fewer rows than usual",
    "store.full": "the store is full",
    "store.returned": "the store takes writes again",
    "test": "test",
}


class MailServer(msgspec.Struct, frozen=True):
    """Where mail is handed in."""

    host: str
    port: int
    is_tls: bool
    user: str = ""
    password: str = ""


def read_mail_server(url: str) -> MailServer | None:
    """`SMARTSPIDER_SMTP_URL`: `smtp[s]://[user:password@]host[:port]`; None when it is not set."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
        raise SettingInvalid(  # not repeated: it may have a password
            "SMARTSPIDER_SMTP_URL is not the URL of a mail server",
            hint="smtp://user:password@host:587, or smtps:// for TLS from the start",
        )
    return MailServer(
        parts.hostname,
        port or _PORTS[parts.scheme],
        parts.scheme == "smtps",
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


class Mail:
    """A carrier. Without a mail server in the settings nothing arrives, and the reason says so."""

    def __init__(self, server: MailServer | None, sender: str) -> None:
        self._server = server
        self._sender = sender

    async def carry(self, target: NoticeTarget, letter: Letter) -> None:
        """Hand a letter in; beside the loop, for the mail library waits."""
        if self._server is None or not self._sender:
            raise Undelivered(f"no mail server is set; {SET_MAIL}")
        message = _message(self._sender, target.address, letter)
        try:
            await asyncio.to_thread(_hand_in, self._server, message)
        except smtplib.SMTPResponseException as error:
            raise Undelivered(f"the mail server answered {error.smtp_code}") from error
        except smtplib.SMTPRecipientsRefused as error:
            raise Undelivered("the mail server refused the recipient") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or type(error).__name__
            raise Undelivered(f"the mail server cannot be used: {said}") from error


def _hand_in(server: MailServer, message: EmailMessage) -> None:
    context = ssl.create_default_context()
    with _connected(server, context) as client:
        if not server.is_tls:
            client.ehlo()
            if client.has_extn("starttls"):
                client.starttls(context=context)
                client.ehlo()
            elif server.password and server.host not in _LOCAL:
                raise smtplib.SMTPNotSupportedError("no TLS")
        if server.user:
            client.login(server.user, server.password)
        client.send_message(message)


def _connected(server: MailServer, context: ssl.SSLContext) -> smtplib.SMTP:
    if server.is_tls:
        return smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_S, context=context)
    return smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)


def _message(sender: str, recipient: str, letter: Letter) -> EmailMessage:
    told: dict[str, Any] = msgspec.json.decode(letter.body)
    run = told.get("run", {})
    message = EmailMessage()
    message["From"], message["To"] = sender, recipient
    what = _HAPPENED.get(told["event"], told["event"])
    store = told.get("store", {})
    of_run = f"{run.get('task', '')}, run {run.get('run_id', '')}: "
    message["Subject"] = f"SmartSpider: {'' if store else of_run}{what}"
    message["X-SmartSpider-Id"] = letter.notice_id
    message["Auto-Submitted"] = "auto-generated"
    lines = [f"{name}: {value}" for name, value in {**run, **store}.items() if value not in ("", None)]
    if "usual_items" in told:
        lines.append(f"usual items: {told['usual_items']:g}")
    message.set_content(f"{what} at {told['at']}\n\n" + "\n".join(lines) + "\n")
    return message
