"""All faults by family, in the order of the table."""

from __future__ import annotations

from smartspider.testing.chaos.fault import Fault
from smartspider.testing.chaos.faults import (
    clocks,
    content,
    control,
    keepers,
    network,
    postgres,
    redis,
    replicas,
    workers,
)

FAULTS: tuple[Fault, ...] = (
    *workers.FAULTS,
    *control.FAULTS,
    *redis.FAULTS,
    *replicas.FAULTS,
    *postgres.FAULTS,
    *network.FAULTS,
    *keepers.FAULTS,
    *clocks.FAULTS,
    *content.FAULTS,
)
