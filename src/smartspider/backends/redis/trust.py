"""Connections over TLS: whom they trust, and what to do when a server or its certificate is refused."""

from __future__ import annotations

import re
import ssl
from typing import Any

from smartspider.backends.redis.connecting import SETTING, TLS_FILES, Address, Tls
from smartspider.core.errors import SettingInvalid

PLACE = re.compile(r" \(_ssl\.c:\d+\)")
"""A line of a source that nobody here has."""
ECHO = re.compile(r",? with args beginning with:.*")
"""A server that does not know AUTH repeats what came with it."""
HINTS = (
    (
        r"certificate is not valid for",
        "use a name that is in its certificate; where servers are announced by addresses that are not,"
        " ssl_check_hostname=false leaves names out",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED.*(self-signed|unable to get)",
        "name the authority that signed its certificate: ssl_ca_certs=/path/ca.pem after ?",
    ),
    (r"CERTIFICATE_VERIFY_FAILED", "its certificate must be replaced"),
    (
        r"(?i)alert certificate required|handshake failure|alert unknown ca|alert bad certificate",
        "it asks for a certificate that it knows: ssl_certfile=/path/cert.pem and ssl_keyfile=/path/key.pem",
    ),
    (r"WRONG_VERSION_NUMBER|wrong version number", "this port does not speak TLS, or something before it"),
    (
        r"(?i)username-password|authentication required|without any password|invalid password|HELLO AUTH",
        "user and password come before the @; those of Sentinel itself are sentinel_username and"
        " sentinel_password after ?",
    ),
)
"""What to do, by what an error says."""


def tls_options(tls: Tls, *, is_on: bool) -> dict[str, Any]:
    """For the client. Raises `SettingInvalid` for files that are of no use."""
    if not is_on:
        return {"ssl": False}
    _check(tls)
    return {
        "ssl": True,
        **{name: getattr(tls, field) or None for name, field in TLS_FILES.items()},
        "ssl_cert_reqs": "required" if tls.is_verified else "none",
        "ssl_check_hostname": tls.is_verified and tls.is_name_checked,
    }


def _check(tls: Tls) -> None:
    """Try the files: the client looks at them with every connection, and asks a terminal for a password."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    option = "ssl_ca_certs"
    try:
        if tls.ca_certs:
            context.load_verify_locations(cafile=tls.ca_certs)
        option = "ssl_certfile"
        if tls.certfile:
            context.load_cert_chain(tls.certfile, tls.keyfile or None, password=lambda: "")
    except OSError as error:
        beside = " or its ssl_keyfile" if option == "ssl_certfile" else ""
        why = "no key or certificate is in it that can be used without a password"
        if not isinstance(error, ssl.SSLError):
            why = error.strerror or type(error).__name__
        raise SettingInvalid(
            f"{SETTING}: the file of {option}{beside} cannot be used: {why}",
            hint="give the path of a PEM file",
        ) from None


def told(error: BaseException, address: Address | None = None) -> tuple[str, str]:
    """What went wrong, in one line and without passwords, and what to do about it where that is known."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = ECHO.sub("", PLACE.sub("", text))
    if address is not None:
        for secret in filter(None, (address.password, address.watch.password)):
            text = text.replace(secret, "***")
    for pattern, hint in HINTS:
        if re.search(pattern, text):
            return text, hint
    is_tls = address is not None and address.is_tls
    if is_tls and "Timeout connecting" in text:
        return text, "if nothing else is wrong: does this port speak TLS?"
    if not is_tls and "Connection reset by peer" in text:
        return text, "if it speaks TLS: rediss://, or tls=1 for Sentinel and Cluster"
    return text, ""
