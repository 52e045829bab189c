"""Do layers in front of the store agree with it? What they know and no row stands for would lose pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smartspider.interfaces.seen import ExactSeen, Seen, SeenKey, SeenRows
from smartspider.interfaces.store import Finding

CODE = "known_urls"


async def check_seen(
    seen: ExactSeen, rows: SeenRows, epoch: str, *, repair: bool = False, at_most: int | None = None
) -> list[Finding]:
    """Compare all sets of runs with the rows, or `at_most` so many entries of each; `repair` drops what is
    wrong. It may be done while runs go on: a row is always there before its entry.
    """
    findings = []
    keys = [key for key in await seen.keys() if key.kind == "run"]
    totals = await rows.totals([key.id for key in keys])
    for key in keys:
        if key.id not in totals:
            wrong = "the run is not there"
        elif key.epoch != epoch:
            wrong = "they are of another epoch of the store"
        else:
            wrong = await _without_rows(seen, rows, key, at_most)
        if wrong and repair:
            await seen.drop(key)
        if wrong:
            findings.append(Finding(CODE, f"known URLs of run {key.id}: {wrong}", is_repaired=repair))
    return findings


async def _without_rows(seen: ExactSeen, rows: SeenRows, key: SeenKey, at_most: int | None) -> str:
    looked_at = 0
    async for batch in seen.entries(key):
        looked_at += len(batch)
        without = set(batch) - await rows.stored(key.id, batch)
        if without:
            return f"{len(without)} of {looked_at} looked at have no row"
        if at_most is not None and looked_at >= at_most:
            break
    return ""


async def drop_finished(layers: Sequence[Seen], live: Collection[int], epoch: str) -> list[SeenKey]:
    """Free what layers know of runs that are not `live`, and of other epochs; which keys it was. A run that
    is opened again learns anew.
    """
    dropped = []
    for layer in layers:
        for key in await layer.keys():
            if key.epoch != epoch or (key.kind == "run" and key.id not in live):
                await layer.drop(key)
                dropped.append(key)
    return dropped
