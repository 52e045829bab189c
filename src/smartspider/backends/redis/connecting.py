"""From a URL to servers: a single Redis, one behind Sentinel, or a Redis Cluster."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import parse_qs, unquote, urlencode

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
OPTIONS = {"db", "persistence", "namespace", "tls"}
NODE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[\w.-]+)(?::(?P<port>\d*))?", re.ASCII)
MOST_PORTS = 65_535
MOST_DATABASES = 99_999
DIGITS = 6
ESCAPED = "write @ / ? # and : of a password as %40 %2F %3F %23 and %3A"
CONNECT_S = 2.0
ANSWER_S = 5.0


class Address(msgspec.Struct, frozen=True):
    """Where the frontier's Redis is."""

    kind: Literal["single", "sentinel", "cluster"]
    nodes: tuple[tuple[str, int], ...]
    service: str = ""
    """The name of the master that Sentinel watches."""
    username: str | None = None
    password: str | None = None
    db: int = 0
    is_tls: bool = False
    is_durable: bool = True
    """Whether its data must survive a restart of the server; without, each costs a load from the store."""
    namespace: str = MAIN
    """Sets installations apart that share a server."""

    def __repr__(self) -> str:
        return f"Address({self.shown})"

    @property
    def shown(self) -> str:
        """For people: without user and password."""
        nodes = ",".join(f"{host}:{port}" for host, port in self.nodes)
        return f"{nodes}/{self.service}" if self.service else nodes

    @property
    def url(self) -> str:
        """What reads as the same address, but for user and password, which are left out."""
        is_plain_tls = self.is_tls and self.kind == "single"
        scheme = "rediss" if is_plain_tls else SCHEMES[self.kind]
        nodes = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.nodes)
        options = {
            "db": str(self.db) if self.db else "",
            "tls": "1" if self.is_tls and not is_plain_tls else "",
            "persistence": "" if self.is_durable else "none",
            "namespace": "" if self.namespace == MAIN else self.namespace,
        }
        query = urlencode({name: value for name, value in options.items() if value})
        return f"{scheme}://{nodes}{f'/{self.service}' if self.service else ''}{f'?{query}' if query else ''}"


def read_url(url: str) -> Address:
    """`redis://`, `rediss://`, `redis+sentinel://h1,h2,h3/name` or `redis+cluster://h1:p1,h2:p2`.

    Nothing of a URL that means nothing is repeated: any part of it may be one of a password.
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
        raise _refused("it has # anywhere, or @ after a / or ?")
    user, _, hosts = authority.rpartition("@")
    username, _, password = user.partition(":")
    options = _options(query)
    path = path.strip("/")
    return Address(
        kind=kind,
        nodes=tuple(_node(node, PORTS[kind]) for node in hosts.split(",")),
        service=_service(path) if kind == "sentinel" else "",
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number(options.get("db", path if kind == "single" else "") or "0", "database", MOST_DATABASES),
        is_tls=scheme == "rediss" or options.get("tls") == "1",
        is_durable=options.get("persistence") != "none",
        namespace=options.get("namespace", MAIN),
    )


def _refused(why: str) -> SettingInvalid:
    return SettingInvalid(f"{SETTING} cannot be read: {why}", hint=ESCAPED)


def _options(query: str) -> dict[str, str]:
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    if not options.keys() <= OPTIONS:
        raise SettingInvalid(
            f"{SETTING} has an unknown option after ?",
            hint=f"there are {', '.join(sorted(OPTIONS))}; {ESCAPED}",
        )
    if options.get("persistence", "none") != "none":
        raise SettingInvalid(f"{SETTING}: persistence is either left out or none")
    if options.get("tls", "1") not in ("0", "1"):
        raise SettingInvalid(f"{SETTING}: tls is 1 or 0", hint="tls=1, or rediss:// for a single Redis")
    if not options.get("namespace", MAIN) or set(":{}") & set(options.get("namespace", MAIN)):
        raise SettingInvalid(f"{SETTING}: a namespace is a name without : {{ and }}")
    return options


def _service(path: str) -> str:
    if not path:
        raise SettingInvalid(
            f"{SETTING} does not name the master that Sentinel watches",
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
    return found["host"].strip("[]"), _number(given, "port", MOST_PORTS) if given else port


def _number(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS and int(text) <= most):
        raise _refused(f"its {what} is no number from 0 to {most}")
    return int(text)
