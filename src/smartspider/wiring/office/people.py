"""Users, tokens, hosts and machines of an installation."""

from __future__ import annotations

from collections.abc import Sequence

from smartspider.core.access import Role
from smartspider.services import hosts, nodes, tokens, users
from smartspider.services.paging import number
from smartspider.services.scaling import scaling
from smartspider.views.access import MeView, NewTokenView, TokenView, UserView, me_view
from smartspider.views.hosts import HostGateView
from smartspider.views.listed import Listed
from smartspider.views.nodes import Drained, NodeTuned, NodeView
from smartspider.views.scaling import ScalingView
from smartspider.wiring.office.seat import Seat


class PeopleOffice(Seat):
    """Who may do what, and who works. Words and answers are those of the API."""

    async def get_me(self) -> MeView:
        """Who sits here."""
        return me_view(self.principal)

    async def list_users(self, *, limit: int = 100, cursor: str | None = None) -> Listed[UserView]:
        """Users in the order they were added."""
        return await users.find(self.access, self.principal, cursor=cursor, limit=limit)

    async def create_user(self, name: str, *, role: Role = "viewer", password: str | None = None) -> UserView:
        """Add a user. Without a password they cannot sign in; tokens can act for them."""
        return await users.add(self.access, self.principal, name, role, password)

    async def get_user(self, user_id: str) -> UserView:
        """A user."""
        return await users.get(self.access, self.principal, user_id)

    async def change_user(
        self,
        user_id: str,
        *,
        role: Role | None = None,
        password: str | None = None,
        enabled: bool | None = None,
    ) -> UserView:
        """Change a user; all their sessions end, and who is disabled loses their tokens too."""
        return await users.change(
            *(self.access, self.principal, user_id), password=password, role=role, is_enabled=enabled
        )

    async def delete_user(self, user_id: str) -> None:
        """Forget a user; their sessions and tokens end."""
        await users.delete(self.access, self.principal, user_id)

    async def list_tokens(
        self, *, actor: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[TokenView]:
        """Tokens in the order they were made."""
        return await tokens.find(self.access, self.principal, actor=actor, cursor=cursor, limit=limit)

    async def create_token(
        self,
        name: str,
        *,
        role: Role,
        scopes: Sequence[str] = (),
        expires_in_s: float | None = None,
        user: str | None = None,
    ) -> NewTokenView:
        """Make a token; the answer holds the secret, this once."""
        wish = tokens.Wish(name, role, tuple(scopes), expires_in_s, user)
        return await tokens.make(self.access, self.principal, wish)

    async def revoke_token(self, token_id: str) -> TokenView:
        """Revoke a token."""
        return await tokens.revoke(self.access, self.principal, number(token_id, "token"))

    async def list_nodes(self) -> Listed[NodeView]:
        """Each machine with its workers."""
        return Listed(await nodes.nodes(self.premises.workers), None)

    async def get_scaling(self) -> ScalingView:
        """How many workers are wanted, and why."""
        return await scaling(self.premises.scaling, self.premises.workers)

    async def tune_node(self, node: str, *, slots: int, worker_id: int | None = None) -> NodeTuned:
        """Have the workers of a machine, or one of them, hold so many requests at most."""
        workers = self.premises.workers
        return await nodes.tune(workers, self.principal, node, slots, worker_id=worker_id)

    async def list_hosts(
        self, *, held: bool = False, limit: int = 100, cursor: str | None = None
    ) -> Listed[HostGateView]:
        """Hosts by name, or only those that are held now."""
        return await hosts.find(self.gates, self.principal, held=held, cursor=cursor, limit=limit)

    async def hold_host(self, host: str, *, seconds: float, reason: str = "") -> HostGateView:
        """Send nothing to a host for so long."""
        return await hosts.hold(self.gates, self.principal, host, seconds, reason)

    async def resume_host(self, host: str) -> HostGateView:
        """Lift a hold, and forget what made the host slow."""
        return await hosts.resume(self.gates, self.principal, host)

    async def slow_host(self, host: str, *, delay_s: float) -> HostGateView:
        """Keep at least this delay at a host; 0 takes that back."""
        return await hosts.slow(self.gates, self.principal, host, delay_s)

    async def drain_node(self, node: str, *, worker_id: int | None = None) -> Drained:
        """Ask the workers of a machine, or one of them, to finish what they hold and leave."""
        return await nodes.drain(self.premises.workers, self.principal, node, worker_id)
