"""Build the stack of layers around the transport."""

from __future__ import annotations

from collections.abc import Callable

from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.requests.origins import UNNAMED
from smartspider.core.requests.secrets import SecretValues
from smartspider.core.runs.plan import FetchPlan
from smartspider.fetch.headers import HeaderPlan, HeadersLayer
from smartspider.fetch.private_addresses import GuardLayer
from smartspider.fetch.redirects import RedirectLayer, Refuse
from smartspider.fetch.robots_policy import RobotsLayer, RobotsPolicy
from smartspider.fetch.secrets import SecretsLayer
from smartspider.fetch.tokens import TokenSource
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.fetcher import Fetcher
from smartspider.interfaces.robots_cache import RobotsCache


def build_robots(
    transport: Fetcher,
    *,
    policy: AddressPolicy,
    headers: HeaderPlan,
    cache: RobotsCache,
    clock: Clock,
) -> RobotsPolicy:
    """Return the robots policy of a run; it uses the transport and guard of the run's pages."""
    return RobotsPolicy(GuardLayer(transport, policy), headers=headers, cache=cache, clock=clock)


def build_fetcher(
    plan: FetchPlan,
    transport: Fetcher,
    *,
    policy: AddressPolicy,
    headers: HeaderPlan,
    robots: RobotsPolicy | None,
    refuse: Refuse = lambda _target, _request: None,
    secrets: SecretValues | None = None,
    layers: Callable[[Fetcher, TokenSource], Fetcher] | None = None,
) -> Fetcher:
    """Return the fetcher of a run; layers are listed outermost first.

    `robots` None: the task ignores robots.txt. `refuse` rejects redirect targets. `secrets` None: requests
    have no headers or bodies that may refer to secrets. `layers` puts those of the task around the transport.
    """

    def with_layers(inner: Fetcher) -> Fetcher:
        if layers is None:
            return inner
        guarded = GuardLayer(inner, policy)
        return layers(
            inner, TokenSource(guarded if robots is None else RobotsLayer(guarded, robots), headers)
        )

    around: list[Callable[[Fetcher], Fetcher]] = [
        lambda inner: HeadersLayer(inner, headers),
        lambda inner: RedirectLayer(inner, plan.max_redirects, refuse, headers.trust or UNNAMED),
        lambda inner: inner if robots is None else RobotsLayer(inner, robots),
        lambda inner: GuardLayer(inner, policy),
        lambda inner: inner if secrets is None else SecretsLayer(inner, secrets),
        with_layers,
    ]
    fetcher = transport
    for layer in reversed(around):
        fetcher = layer(fetcher)
    return fetcher
