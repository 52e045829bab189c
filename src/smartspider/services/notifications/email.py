"""Notifications by email, through the mail server of the settings."""

from __future__ import annotations

import asyncio
import re
import smtplib
import ssl
from email.message import EmailMessage

from smartspider.core.errors import DeliveryFailed, Problem, RequestInvalid
from smartspider.core.notifications import SET_MAIL, NotificationTarget
from smartspider.installation.installation import Installation
from smartspider.installation.setting_parsers import MailServer
from smartspider.services.notifications.notifier import ChannelAddress, Message, describe
from smartspider.services.notifications.targets import address_invalid

TIMEOUT_S = 10.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_ADDRESS = re.compile(r"[^\s@<>,;:\"'()\[\]\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.\-]{0,250}[A-Za-z0-9])?")


class EmailChannel:
    """Hands messages to the mail server of the settings."""

    address = ChannelAddress("email", "ann@example.com")

    def __init__(self, installation: Installation) -> None:
        self._server = installation.settings.mail

    def lacks(self) -> str:
        """Return how to set a mail server, if there is none."""
        return SET_MAIL if self._server is None else ""

    def check_address(self, address: str) -> None:
        """Accept one email address, if a mail server is set."""
        if _ADDRESS.fullmatch(address) is None:
            raise address_invalid("is not an email address", "use one address, like ann@example.com")
        if self._server is None:
            reason = "is email, but no mail server is set"
            raise RequestInvalid(
                f"the kind {reason}; {SET_MAIL}", (Problem("kind", reason, SET_MAIL),), hint=SET_MAIL
            )

    def secret(self, target_id: int) -> str | None:  # noqa: ARG002 - part of the protocol
        """Return None: mail is not signed."""
        return None

    async def send(self, target: NotificationTarget, message: Message) -> None:
        """Hand a message to the mail server, in a thread: the mail library blocks."""
        if self._server is None:
            raise DeliveryFailed(f"no mail server is set; {SET_MAIL}")
        mail = compose_mail(self._server.sender, target.address, message)
        try:
            await asyncio.to_thread(_submit, self._server, mail)
        except smtplib.SMTPResponseException as error:
            raise DeliveryFailed(f"the mail server returned {error.smtp_code}") from error
        except smtplib.SMTPRecipientsRefused as error:
            raise DeliveryFailed("the mail server refused the recipient") from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise DeliveryFailed(f"the mail server cannot be used: {reason}") from error


def _submit(server: MailServer, mail: EmailMessage) -> None:
    context = ssl.create_default_context()
    with _connect(server, context) as client:
        if not server.is_tls:
            client.ehlo()
            if client.has_extn("starttls"):
                client.starttls(context=context)
                client.ehlo()
            elif server.password and server.host not in _LOCAL:
                raise smtplib.SMTPNotSupportedError("no TLS")
        if server.user:
            client.login(server.user, server.password)
        client.send_message(mail)


def _connect(server: MailServer, context: ssl.SSLContext) -> smtplib.SMTP:
    if server.is_tls:
        return smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_S, context=context)
    return smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)


def compose_mail(sender: str, recipient: str, message: Message) -> EmailMessage:
    """Return the mail of a message."""
    headline, lines = describe(message)
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, recipient
    mail["Subject"] = f"SmartSpider: {headline}"
    mail["X-SmartSpider-Id"] = message.id
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join([*lines, ""]))
    return mail
