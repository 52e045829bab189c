"""Signing in and out."""

from __future__ import annotations

from smartspider.client.operations.wired import Wired
from smartspider.views.access import MeView, SessionView, TicketView


class AuthOperations(Wired):
    """Signing in, and who one is."""

    async def create_session(
        self, *, username: str | None = None, password: str | None = None, refresh_token: str | None = None
    ) -> SessionView:
        """Sign in with a name and a password, or prolong a session with its refresh token."""
        sent = {"username": username, "password": password, "refresh_token": refresh_token}
        body = {name: value for name, value in sent.items() if value is not None}
        return await self.connection.post("/api/auth/token", SessionView, body)

    async def get_me(self) -> MeView:
        """Who asks, and what they may."""
        return await self.connection.get("/api/auth/me", MeView)

    async def create_ticket(self) -> TicketView:
        """A ticket that opens one WebSocket."""
        return await self.connection.post("/api/auth/ticket", TicketView)

    async def end_session(self) -> None:
        """End the session that this client came with."""
        await self.connection.request("POST", "/api/auth/logout")

    async def change_password(self, *, password: str, new_password: str) -> SessionView:
        """Change one's own password. All sessions end; the answer is a new one."""
        body = {"password": password, "new_password": new_password}
        return await self.connection.post("/api/auth/password", SessionView, body)
