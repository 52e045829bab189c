"""Finding the master by Sentinel, with a one-line error if there is none."""

from __future__ import annotations

from typing import Any

from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.exceptions import RedisError

from smartspider.backends.redis.address import RedisAddress
from smartspider.backends.redis.errors import plain_message


class SentinelClient(Sentinel):
    """Sentinels, asked in turn. The client's own error lists pages of settings and no reason."""

    def __init__(self, address: RedisAddress, options: dict[str, Any]) -> None:
        super().__init__(list(address.nodes), sentinel_kwargs=options)  # type: ignore[no-untyped-call] # not annotated
        self._named = list(zip(address.nodes, self.sentinels, strict=True))

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return host and port of the master, from the first Sentinel that knows a healthy one."""
        problems = []
        for place, ((host, port), sentinel) in enumerate(self._named):
            try:
                masters: Any = await sentinel.sentinel_masters()
            except (RedisError, OSError, RuntimeError, UnicodeError) as error:
                problems.append(f"{host}:{port}: {plain_message(error)}")
                continue
            state = masters.get(service_name)
            if state and self.check_master_state(state, service_name):
                self._named.insert(0, self._named.pop(place))
                return state["ip"], state["port"]
            problems.append(f"{host}:{port}: {'it is down' if state else 'it watches none of that name'}")
        raise MasterNotFoundError(f"no Sentinel names a master {service_name!r}: {'; '.join(problems)}")
