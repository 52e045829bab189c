"""All faults by family, in the order of the report."""

from __future__ import annotations

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.faults import (
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
