"""From a URL to servers: a single Redis, one behind Sentinel, or a Redis Cluster."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from smartspider.core.errors import SettingInvalid

SETTING = "SMARTSPIDER_FRONTIER_URL"
KINDS: dict[str, Literal["single", "sentinel", "cluster"]] = {
    "redis": "single",
    "rediss": "single",
    "redis+sentinel": "sentinel",
    "redis+cluster": "cluster",
}
PORTS = {"single": 6379, "sentinel": 26379, "cluster": 6379}
OPTIONS = {"db", "persistence", "namespace", "tls"}
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
    namespace: str = "main"
    """Sets installations apart that share a server."""

    def __repr__(self) -> str:
        return f"Address({self.shown})"

    @property
    def shown(self) -> str:
        """For people: without user and password."""
        nodes = ",".join(f"{host}:{port}" for host, port in self.nodes)
        return f"{nodes}/{self.service}" if self.service else nodes


def read_url(url: str) -> Address:
    """`redis://`, `rediss://`, `redis+sentinel://h1,h2,h3/name` or `redis+cluster://h1:p1,h2:p2`."""
    scheme, _, rest = url.partition("://")
    if scheme not in KINDS or not rest:
        raise SettingInvalid(
            f"{SETTING} does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://",
            hint="redis://127.0.0.1:6379",
        )
    kind = KINDS[scheme]
    parts = urlsplit(f"//{rest}")
    user, _, hosts = parts.netloc.rpartition("@")
    username, _, password = user.partition(":")
    options = _options(parts.query)
    path = parts.path.strip("/")
    return Address(
        kind=kind,
        nodes=tuple(_node(node, PORTS[kind]) for node in hosts.split(",")),
        service=_service(path) if kind == "sentinel" else "",
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number(options.get("db", path if kind == "single" else "") or "0", "database"),
        is_tls=scheme == "rediss" or options.get("tls") == "1",
        is_durable=options.get("persistence") != "none",
        namespace=options.get("namespace", "main"),
    )


def _options(query: str) -> dict[str, str]:
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    for name in options:
        if name not in OPTIONS:
            raise SettingInvalid(
                f"{SETTING} has an unknown option '{name}'", hint=f"there are {', '.join(sorted(OPTIONS))}"
            )
    if options.get("persistence", "none") != "none":
        raise SettingInvalid(f"{SETTING}: persistence is either left out or none")
    return options


def _service(path: str) -> str:
    if not path:
        raise SettingInvalid(
            f"{SETTING} does not name the master that Sentinel watches",
            hint="redis+sentinel://h1,h2,h3/mymaster",
        )
    return path


def _node(node: str, port: int) -> tuple[str, int]:
    host, colon, given = node.rpartition(":") if not node.endswith("]") else (node, "", "")
    if not colon:
        host, given = node, ""
    if not host:
        raise SettingInvalid(f"{SETTING} has a server without a name", hint="redis://127.0.0.1:6379")
    return host.strip("[]"), _number(given, "port") if given else port


def _number(text: str, what: str) -> int:
    if not text.isdigit():
        raise SettingInvalid(f"{SETTING}: '{text}' is no {what}")
    return int(text)
