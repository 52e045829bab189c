"""Parsing the URL of a single Redis, one behind Sentinel, or a Redis Cluster."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from smartspider.core.errors import SettingInvalid

SETTING = "SMARTSPIDER_FRONTIER_URL"
KINDS: dict[str, Literal["single", "sentinel", "cluster"]] = {
    "redis": "single",
    "rediss": "single",
    "redis+sentinel": "sentinel",
    "redis+cluster": "cluster",
}
SCHEMES = {"single": "redis", "sentinel": "redis+sentinel", "cluster": "redis+cluster"}
PORTS = {"single": 6379, "sentinel": 26379, "cluster": 6379}
MAIN = "main"
TLS_FILES = {"ssl_ca_certs": "ca_certs", "ssl_certfile": "certfile", "ssl_keyfile": "keyfile"}
"""Options that name files, as redis-py names them, and our fields for them."""
TLS_OPTIONS = {*TLS_FILES, "ssl_cert_reqs", "ssl_check_hostname"}
SENTINEL_OPTIONS = {"sentinel_username", "sentinel_password", "sentinel_tls"}
OPTIONS = {"db", "persistence", "namespace", "tls", *TLS_OPTIONS, *SENTINEL_OPTIONS}
ALLOWED_VALUES = {
    "tls": ("1", "0"),
    "sentinel_tls": ("1", "0"),
    "ssl_cert_reqs": ("required", "none"),
    "ssl_check_hostname": ("true", "false"),
}
"""Allowed values of options that have few."""
NODE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[\w.-]+)(?::(?P<port>\d*))?", re.ASCII)
MAX_PORT = 65_535
MAX_DATABASE = 99_999
DIGITS = 6
ESCAPED = "write @ / ? # and : of a password as %40 %2F %3F %23 and %3A"
CONNECT_S = 2.0
ANSWER_S = 5.0


class TlsOptions(msgspec.Struct, frozen=True):
    """The TLS settings of a connection; certificates are verified by default.

    Files are read when servers are opened.
    """

    ca_certs: str = ""
    """Certificates of authorities that are trusted beside those of the machine."""
    certfile: str = ""
    keyfile: str = ""
    is_verified: bool = True
    is_name_checked: bool = True
    """The certificate must match the host name."""

    @property
    def options(self) -> dict[str, str]:
        """Return the options of a URL, without default values."""
        return {name: getattr(self, field) for name, field in TLS_FILES.items()} | {
            "ssl_cert_reqs": "" if self.is_verified else "none",
            "ssl_check_hostname": "" if self.is_name_checked else "false",
        }


class SentinelOptions(msgspec.Struct, frozen=True):
    """Credentials for the Sentinels themselves."""

    username: str | None = None
    password: str | None = None
    is_tls: bool = False

    def __repr__(self) -> str:
        return "Watch(...)"


class RedisAddress(msgspec.Struct, frozen=True):
    """The address of the frontier's Redis."""

    kind: Literal["single", "sentinel", "cluster"]
    nodes: tuple[tuple[str, int], ...]
    service: str = ""
    """The name of the master that Sentinel monitors."""
    username: str | None = None
    password: str | None = None
    db: int = 0
    is_tls: bool = False
    tls: TlsOptions = TlsOptions()
    sentinel: SentinelOptions = SentinelOptions()
    is_durable: bool = True
    """True if its data must survive a restart of the server; if not, each restart costs a load from the
    store.
    """
    namespace: str = MAIN
    """Separates installations that share a server."""

    def __repr__(self) -> str:
        return f"Address({self.shown})"

    @property
    def _sentinel_tls(self) -> str:
        is_told_apart = self.kind == "sentinel" and self.sentinel.is_tls != self.is_tls
        return str(int(self.sentinel.is_tls)) if is_told_apart else ""

    @property
    def shown(self) -> str:
        """The address for display, without user and password."""
        nodes = ",".join(f"{host}:{port}" for host, port in self.nodes)
        return f"{nodes}/{self.service}" if self.service else nodes

    @property
    def url(self) -> str:
        """The address as a URL, without users and passwords."""
        is_plain_tls = self.is_tls and self.kind == "single"
        scheme = "rediss" if is_plain_tls else SCHEMES[self.kind]
        nodes = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.nodes)
        options = {
            "db": str(self.db) if self.db else "",
            "tls": "1" if self.is_tls and not is_plain_tls else "",
            "sentinel_tls": self._sentinel_tls,
            **self.tls.options,
            "persistence": "" if self.is_durable else "none",
            "namespace": "" if self.namespace == MAIN else self.namespace,
        }
        query = "&".join(f"{name}={quote(value, safe='/+:,')}" for name, value in options.items() if value)
        return f"{scheme}://{nodes}{f'/{self.service}' if self.service else ''}{f'?{query}' if query else ''}"


def read_url(url: str) -> RedisAddress:
    """Parse `redis://`, `rediss://`, `redis+sentinel://h1,h2,h3/name` or `redis+cluster://h1:p1,h2:p2`.

    Errors repeat nothing of an invalid URL: any part of it may belong to a password.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in KINDS or not rest:
        raise SettingInvalid(
            f"{SETTING} does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://",
            hint="redis://127.0.0.1:6379",
        )
    kind = KINDS[scheme]
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    if "#" in rest or "@" in path + query:
        raise _refused("it contains an unescaped # or @")
    user, _, hosts = authority.rpartition("@")
    username, _, password = user.partition(":")
    options = _options(query)
    path = path.strip("/")
    is_tls = scheme == "rediss" or options.get("tls") == "1"
    return RedisAddress(
        kind=kind,
        nodes=tuple(_node(node, PORTS[kind]) for node in hosts.split(",")),
        service=_service(path) if kind == "sentinel" else "",
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number(options.get("db", path if kind == "single" else "") or "0", "database", MAX_DATABASE),
        is_tls=is_tls,
        tls=_tls(options, has_tls=is_tls or options.get("sentinel_tls") == "1"),
        sentinel=_sentinel(options, is_tls=is_tls, kind=kind),
        is_durable=options.get("persistence") != "none",
        namespace=options.get("namespace", MAIN),
    )


def _refused(why: str) -> SettingInvalid:
    return SettingInvalid(f"{SETTING} cannot be read: {why}", hint=ESCAPED)


def _options(query: str) -> dict[str, str]:
    """Return names and values. A + stays a +, as in a password or a path."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    options = {unquote(name): unquote(value) for name, _, value in pairs}
    if not options.keys() <= OPTIONS:
        raise SettingInvalid(
            f"{SETTING} has an unknown option after ?",
            hint=f"there are {', '.join(sorted(OPTIONS))}; {ESCAPED}",
        )
    if options.get("persistence", "none") != "none":
        raise SettingInvalid(f"{SETTING}: persistence must be omitted or none")
    for name, values in ALLOWED_VALUES.items():
        if options.get(name, values[0]) not in values:
            raise SettingInvalid(f"{SETTING}: {name} is {' or '.join(values)}")
    if not options.get("namespace", MAIN) or set(":{}") & set(options.get("namespace", MAIN)):
        raise SettingInvalid(f"{SETTING}: a namespace is a name without : {{ and }}")
    return options


def _tls(options: dict[str, str], *, has_tls: bool) -> TlsOptions:
    given = options.keys() & TLS_OPTIONS
    if given and not has_tls:
        raise SettingInvalid(
            f"{SETTING} has {min(given)}, but TLS is off",
            hint="begin it with rediss://, or add tls=1 for Sentinel and Cluster",
        )
    if "ssl_keyfile" in given and "ssl_certfile" not in given:
        raise SettingInvalid(f"{SETTING} has ssl_keyfile without ssl_certfile")
    if empty := [name for name in TLS_FILES if options.get(name) == ""]:
        raise SettingInvalid(f"{SETTING}: {empty[0]} is the path of a PEM file")
    return TlsOptions(
        **{field: options[name] for name, field in TLS_FILES.items() if name in options},
        is_verified=options.get("ssl_cert_reqs") != "none",
        is_name_checked=options.get("ssl_check_hostname") != "false",
    )


def _sentinel(options: dict[str, str], *, is_tls: bool, kind: str) -> SentinelOptions:
    if kind != "sentinel":
        if options.keys() & SENTINEL_OPTIONS:
            raise SettingInvalid(f"{SETTING} has options for Sentinels, and is not one of redis+sentinel://")
        return SentinelOptions()
    return SentinelOptions(
        username=options.get("sentinel_username") or None,
        password=options.get("sentinel_password") or None,
        is_tls=options.get("sentinel_tls", str(int(is_tls))) == "1",
    )


def _service(path: str) -> str:
    if not path:
        raise SettingInvalid(
            f"{SETTING} does not name the master that Sentinel monitors",
            hint="redis+sentinel://h1,h2,h3/mymaster",
        )
    return path


def _node(node: str, port: int) -> tuple[str, int]:
    if not node or node.startswith(":"):
        raise SettingInvalid(f"{SETTING} has a server without a name", hint="redis://127.0.0.1:6379")
    found = NODE.fullmatch(node)
    if found is None:
        raise _refused("a server is a name or an address, with or without : and a port")
    given = found["port"]
    return found["host"].strip("[]"), _number(given, "port", MAX_PORT) if given else port


def _number(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS and int(text) <= most):
        raise _refused(f"the {what} is not a number from 0 to {most}")
    return int(text)
