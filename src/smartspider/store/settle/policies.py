"""The policies and settings of a plan that are stored with its run."""

from __future__ import annotations

import msgspec

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.tuning import LimitTuning, Tuning


class Policies(msgspec.Struct, frozen=True):
    """The column `policies` of a run."""

    items: ItemDedup = ItemDedup()
    recrawl: RecrawlPolicy = RecrawlPolicy()


NO_POLICIES = Policies()

_decoder = msgspec.json.Decoder(Policies)


def encode_policies(plan: Plan) -> bytes | None:
    """Encode the policies of a plan; None if neither has any effect, so that settling costs nothing extra."""
    if not plan.items.keys and not plan.recrawl.needs_history:
        return None
    return msgspec.json.encode(Policies(plan.items, plan.recrawl))


def decode_policies(stored: bytes | None) -> Policies:
    """Decode the policies of a run."""
    return NO_POLICIES if stored is None else _decoder.decode(stored)


def encode_settings(plan: Plan) -> bytes:
    """Encode all settings of a plan."""
    polite, limits = plan.politeness, plan.limits
    settings = Tuning(
        concurrency=plan.concurrency,
        delay_s=polite.delay_s,
        rate_per_s=polite.rate_per_s,
        per_host=polite.per_host,
        priority=plan.weight - 1,
        limits=LimitTuning(
            max_pages=limits.max_pages,
            max_items=limits.max_items,
            max_depth=limits.max_depth,
            max_duration_s=limits.max_duration_s,
            max_errors=limits.max_errors,
        ),
    )
    return msgspec.json.encode(settings)
