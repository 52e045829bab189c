"""Where a request came from, as proxies that are trusted tell it."""

from __future__ import annotations

from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider.installation.setting_parsers import Networks

MOST_HOPS = 20


class Forwarded:
    """Puts the caller's own address and scheme in place of the proxy's; nobody else is listened to."""

    def __init__(self, app: ASGIApp, trusted: Networks) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] in ("http", "websocket") and self._trusted:
            client = scope.get("client")
            if client and self._is_trusted(client[0]):
                scope = {**scope, **self._told(scope, client[0])}
        await self._app(scope, receive, send)

    def _told(self, scope: Scope, proxy: str) -> Scope:
        hops: list[str] = []
        told: Scope = {}
        for name, value in scope["headers"]:
            if name == b"x-forwarded-for":
                hops += value.decode("latin-1").split(",")
            elif name == b"x-forwarded-proto":
                scheme = value.decode("latin-1").rpartition(",")[2].strip().lower()
                if scheme in ("http", "https"):
                    is_socket = scope["type"] == "websocket"
                    told["scheme"] = scheme.replace("http", "ws") if is_socket else scheme
        caller = proxy
        for hop in reversed(hops[-MOST_HOPS:]):  # the rightmost was added by the nearest proxy
            address = _address(hop)
            if address is None:
                break
            caller = address
            if not self._is_trusted(address):
                break
        told["client"] = (caller, 0)
        return told

    def _is_trusted(self, address: str) -> bool:
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        ip = getattr(ip, "ipv4_mapped", None) or ip
        return any(ip in network for network in self._trusted if network.version == ip.version)


def _address(text: str) -> str | None:
    """An address of a list, without its port; None for what is no address."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None
