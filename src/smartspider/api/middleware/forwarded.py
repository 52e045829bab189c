"""The client address and scheme reported by trusted proxies."""

from __future__ import annotations

from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from smartspider.installation.setting_parsers import Networks

MAX_HOPS = 20


class Forwarded:
    """Applies X-Forwarded-For and X-Forwarded-Proto of trusted proxies; ignores all others."""

    def __init__(self, app: ASGIApp, trusted: Networks) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] in ("http", "websocket") and self._trusted:
            client = scope.get("client")
            if client and self._is_trusted(client[0]):
                scope = {**scope, **self._original(scope, client[0])}
        await self._app(scope, receive, send)

    def _original(self, scope: Scope, proxy: str) -> Scope:
        hops: list[str] = []
        original: Scope = {}
        for name, value in scope["headers"]:
            if name == b"x-forwarded-for":
                hops += value.decode("latin-1").split(",")
            elif name == b"x-forwarded-proto":
                scheme = value.decode("latin-1").rpartition(",")[2].strip().lower()
                if scheme in ("http", "https"):
                    is_socket = scope["type"] == "websocket"
                    original["scheme"] = scheme.replace("http", "ws") if is_socket else scheme
        caller = proxy
        for hop in reversed(hops[-MAX_HOPS:]):  # the nearest proxy added the rightmost
            address = _address(hop)
            if address is None:
                break
            caller = address
            if not self._is_trusted(address):
                break
        original["client"] = (caller, 0)
        return original

    def _is_trusted(self, address: str) -> bool:
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        ip = getattr(ip, "ipv4_mapped", None) or ip
        return any(ip in network for network in self._trusted if network.version == ip.version)


def _address(text: str) -> str | None:
    """Return an IP address without its port; None if it is invalid."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None
