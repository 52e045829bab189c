"""The carriers of notices, by the settings of an installation."""

from __future__ import annotations

from smartspider.interfaces.clock import Clock
from smartspider.services.keys import Keys
from smartspider.services.mail import Mail, read_mail_server
from smartspider.services.post import Post
from smartspider.services.webhooks import Webhooks
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.settings import Settings


def post_of(settings: Settings, keys: Keys, clock: Clock) -> Post:
    """Webhooks that reach what the settings open, and mail over the server they name."""
    return Post(
        {
            "webhook": Webhooks(server_policy(settings), keys.webhook_secret, clock),
            "email": Mail(read_mail_server(settings.smtp_url), settings.mail_from),
        }
    )
