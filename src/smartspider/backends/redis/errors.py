"""Errors of Redis and its client in one line, with a hint."""

from __future__ import annotations

import os
import re

from smartspider.backends.redis.address import SETTING, RedisAddress

USUAL = f"check that Redis runs there and that {SETTING} is right"
NO_KEEPER = "start a keeper with `smartspider keeper`; if one is running, wait a few seconds"

CONNECTING = re.compile(r"^Error (-?\d+) connecting to \S+\. (?=\S)")
READING = re.compile(r"^Error while reading from \S+ : \(-?\d+, '(.*)'\)$")
SHOW_CERTIFICATE = (
    "requires a client certificate: add ssl_certfile=/path/cert.pem and ssl_keyfile=/path/key.pem"
)
NOISE = (
    re.compile(r"\s*:?\s*<redis\.\S*[\s\S]*$"),  # representations of the client's objects
    re.compile(r" \(_ssl\.c:\d+\)"),
    re.compile(r",? with args beginning with:.*"),  # a server that does not know AUTH repeats the password
)
"""Parts of messages that are useless or secret."""

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
        f"it {SHOW_CERTIFICATE}",
    ),
    (r"(?i)wrong.version.number", "this port, or a proxy in front of it, does not use TLS"),
    (
        r"(?i)password|authentication|\b(noauth|auth)\b",
        f"check user and password in {SETTING}, before the @; those of Sentinel itself are sentinel_username"
        " and sentinel_password after ?",
    ),
    (r"\bNOPERM\b|no permissions", "let its user call functions and use all keys (ACL SETUSER)"),
    (r"DB index", f"name a database that this Redis has in {SETTING}, as redis://HOST:6379/0"),
    (
        r"[Cc]luster mode is not enabled|cluster support disabled",
        f"the server is a standalone Redis; use redis:// in {SETTING}",
    ),
    (r"^(MOVED|ASK|CROSSSLOT)\b", f"the server is a Redis Cluster node; use redis+cluster:// in {SETTING}"),
    (
        r"no Sentinel names a master",
        f"check that the Sentinels run and watch a master of the name in {SETTING}",
    ),
    (r"Name or service|resolve|getaddrinfo", f"check the name of the server in {SETTING}"),
)
"""Hints by error message; the first match wins."""


def translate_error(error: BaseException, address: RedisAddress | None = None) -> tuple[str, str]:
    """Return the message in one line without passwords, and a hint."""
    text = plain_message(error)
    if address is not None:
        for secret in filter(None, (address.password, address.sentinel.password)):
            text = text.replace(secret, "***")
    return text, _hint(text, address)


def plain_message(error: BaseException) -> str:
    """Return the message of an error without useless parts."""
    text = " ".join(str(error).split())
    for noise in NOISE:
        text = noise.sub("", text)
    text = text.strip() or type(error).__name__
    if found := READING.match(text):
        return found[1]
    found = CONNECTING.match(text)
    if found is None:
        return text
    number, rest = int(found[1]), text[found.end() :]
    # Event loops differ in their messages for the same system error.
    return rest if number <= 0 or "SSL" in rest else os.strerror(number)


def _hint(text: str, address: RedisAddress | None) -> str:
    for pattern, hint in HINTS:
        if re.search(pattern, text):
            return hint
    is_tls = address is not None and address.is_tls
    if is_tls and "Timeout connecting" in text:
        return f"{USUAL}; check that the port uses TLS"
    if re.search("reset by peer|closed by server", text):
        # A server that wants a certificate may close the connection before its message is read.
        wanted = SHOW_CERTIFICATE if is_tls else "speaks TLS: rediss://, or tls=1 for Sentinel and Cluster"
        return f"{USUAL}; if it {wanted}"
    return USUAL
