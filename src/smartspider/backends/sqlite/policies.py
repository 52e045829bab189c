"""What a run keeps of its plan for settling: how items are compared and pages revisited."""

from __future__ import annotations

import msgspec

from smartspider.core.dedup import ItemDedup
from smartspider.core.plan import Plan
from smartspider.core.recrawl import Recrawl


class Policies(msgspec.Struct, frozen=True):
    """The column `policies` of a run."""

    items: ItemDedup = ItemDedup()
    recrawl: Recrawl = Recrawl()


NO_POLICIES = Policies()

_decoder = msgspec.json.Decoder(Policies)


def encode_policies(plan: Plan) -> bytes | None:
    """The policies of a plan; None when neither of them does anything, so that settling pays nothing."""
    if not plan.items.keys and not plan.recrawl.looks_back:
        return None
    return msgspec.json.encode(Policies(plan.items, plan.recrawl))


def decode_policies(stored: bytes | None) -> Policies:
    """The policies of a run."""
    return NO_POLICIES if stored is None else _decoder.decode(stored)
