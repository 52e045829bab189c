"""What a run keeps of its plan: how items are compared and pages revisited, and how its knobs are set."""

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
    """The policies of a plan; None when neither of them does anything, so that settling pays nothing."""
    if not plan.items.keys and not plan.recrawl.needs_history:
        return None
    return msgspec.json.encode(Policies(plan.items, plan.recrawl))


def decode_policies(stored: bytes | None) -> Policies:
    """The policies of a run."""
    return NO_POLICIES if stored is None else _decoder.decode(stored)


def encode_knobs(plan: Plan) -> bytes:
    """The knobs of a plan, all of them."""
    polite, limits = plan.politeness, plan.limits
    knobs = Tuning(
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
    return msgspec.json.encode(knobs)
