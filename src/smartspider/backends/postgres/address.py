"""The address of a database and the errors of its server, never with the password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from smartspider.core.errors import StoreFull, StoreUnavailable

FORM = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
SETTING = "SMARTSPIDER_STORE_URL"
ESCAPED = "write @, / and : of a password as %40, %2F and %3A"
USUAL = f"check that PostgreSQL runs there and that {SETTING} is right"
PREFIX = re.compile(
    r"^(connection failed: )?(connection to server (at|on socket) .*? failed: )?((FATAL|ERROR): +)?"
)
ATTEMPT = re.compile(r'^- .*connection to server at "([^"]*)".*?, port (\d+) failed: (.*)$', re.MULTILINE)
"""The driver's message for each of several servers."""
KEPT = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "target_session_attrs", "channel_binding")
"""Options that belong to the address: without them the connection would differ or fail."""
SIGNED = "sslrootcert=/path/ca.pem after ? names the authority that signed its certificate"
HINTS = (
    (r"certificate verify failed|root certificate file", SIGNED),
    (r"does not match host name", "use a name that is in its certificate, or sslmode=verify-ca"),
    (r"server does not support SSL", "its administrator turns TLS on: ssl = on"),
    (
        r"no encryption",
        "let this machine and user in: a line in pg_hba.conf of the server; where one does so over TLS, add"
        " ?sslmode=verify-full",
    ),
    (r"session is read-only", "none of the servers accepts writes; promote one of them"),
    (
        r"database .* does not exist",
        "`createdb --owner USER --encoding UTF8 --template template0 DATABASE` makes it; or correct the name"
        f" in {SETTING}",
    ),
    (
        r"role .* does not exist",
        f"`createuser --pwprompt USER` creates it; otherwise correct the name in {SETTING}",
    ),
    (r"no password supplied", f"{SETTING} has no password"),
    (r"password|authentication", f"check user and password in {SETTING}; {ESCAPED}"),
    (r"pg_hba\.conf", "add an entry for this machine and user to pg_hba.conf of the server"),
    (r"resolve host|translate host", f"check the name of the server in {SETTING}"),
)
"""Hints by error message, since errors before authentication have no code; the first match wins."""


def _parts(url: str) -> dict[str, str]:
    try:
        return {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:  # its message repeats parts of the address
        raise _no_address() from None


def _no_address() -> StoreUnavailable:
    return StoreUnavailable(
        "the address of the store is not a PostgreSQL URL",
        hint=f"use {FORM}; {ESCAPED}",
    )


class PostgresAddress:
    """The address of a database. Raise `StoreUnavailable` if the text is not one."""

    def __init__(self, url: str) -> None:
        parts = _parts(url)
        hosts = (parts.get("host") or parts.get("hostaddr") or "localhost").split(",")
        ports = [port or "5432" for port in parts.get("port", "").split(",")]
        ports += ports[-1:] * (len(hosts) - len(ports))
        database = parts.get("dbname") or parts.get("user", "")
        if "@" in f"{hosts}{database}" or not all(map(str.isdecimal, ports)):
            raise _no_address()  # the parsed name may be a part of the password
        servers = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=False))
        self.place = f"{servers}/{database}"
        """The servers and the database name, for display."""
        kept = {name: value for name, value in parts.items() if name in KEPT}
        self.url = (
            f"postgresql://{self.place}{'?' if kept else ''}{urlencode(kept, safe='/', quote_via=quote)}"
        )
        """The URL with all connection options, without user and password."""
        self._secrets = [parts[name] for name in ("password", "sslpassword") if parts.get(name)]

    def unavailable(self, error: Exception) -> StoreUnavailable:
        """Return the error for the user, in one line."""
        message = _one_line(error)
        for secret in self._secrets:
            message = message.replace(secret, "***")
        match error:
            case psycopg.errors.InsufficientPrivilege():
                hint = (
                    "its user must own the schema `smartspider`, or be allowed to create and use it: GRANT"
                    " CREATE ON DATABASE ... TO ..., GRANT ALL ON ALL TABLES IN SCHEMA smartspider TO ..."
                )
            case psycopg.errors.ReadOnlySqlTransaction():
                hint = (
                    "this server is a standby: give the address of the primary, or of all servers"
                    " with ?target_session_attrs=read-write"
                )
            case psycopg.errors.DiskFull():
                return StoreFull(
                    f"the store at {self.place} accepts no writes: disk full ({message})",
                    hint="free space on the disk of the server; no saved data is lost",
                )
            case _:
                hint = next((hint for pattern, hint in HINTS if re.search(pattern, message)), USUAL)
        return StoreUnavailable(f"the store at {self.place} cannot be used: {message}", hint=hint)


def _one_line(error: Exception) -> str:
    """Return the message of an error; with several servers, the message of each."""
    text = str(error).strip()
    if attempts := ATTEMPT.findall(text):
        return "; ".join(f"{host}:{port}: {PREFIX.sub('', why)}" for host, port, why in attempts)
    return PREFIX.sub("", text.splitlines()[0]) if text else type(error).__name__


@contextmanager
def translated(address: PostgresAddress) -> Iterator[None]:
    """Raise `StoreUnavailable` for errors of the driver."""
    try:
        yield
    except psycopg.Error as error:
        raise address.unavailable(error) from error
