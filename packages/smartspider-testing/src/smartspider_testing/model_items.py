"""Ledger 11 to 13 in plain Python: the stored items after a sequence of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item


@dataclass
class ModelItem:
    """A stored item and the page it belongs to."""

    data: Item
    run_id: int
    page: list[Item]


@dataclass
class ModelItems:
    """The dedup keys of all runs of a task, and counters by run."""

    known: dict[tuple[int, bytes], ModelItem] = field(default_factory=dict)
    duplicates: Counter[int] = field(default_factory=Counter)
    updated: Counter[int] = field(default_factory=Counter)

    def add(
        self,
        run_id: int,
        dedup: ItemDedup,
        page: list[Item],
        found: Sequence[Item],
        keys: Sequence[tuple[bytes, ...]],
    ) -> bool:
        """Store the items of a page in order. Return True if one of them was new."""
        if not dedup.keys:
            page += [dict(item) for item in found]
            return True
        is_new = [self._add(run_id, dedup, page, item, own) for item, own in zip(found, keys, strict=True)]
        return any(is_new)

    def _add(
        self, run_id: int, dedup: ItemDedup, page: list[Item], item: Item, keys: tuple[bytes, ...]
    ) -> bool:
        scopes = [run_id] if dedup.scope == "run" else [0] if dedup.keep == "first" else [run_id, 0]
        places = [(scope, key) for scope in scopes for key in keys]
        twins: list[ModelItem] = []
        for place in places:
            twin = self.known.get(place)
            if twin is not None and not any(twin is other for other in twins):
                twins.append(twin)
        if twins and dedup.keep == "first":
            self.duplicates[run_id] += 1
            for twin in twins:
                self._update(run_id, dedup, twin, item)
            return False
        self.updated[run_id] += any(twin.data != item for twin in twins)
        for twin in twins:
            if twin.run_id == run_id:
                self._drop(twin)
                self.duplicates[run_id] += 1
        stored = ModelItem(dict(item), run_id, page)
        page.append(stored.data)
        self.known.update(dict.fromkeys(places, stored))
        return not twins

    def _update(self, run_id: int, dedup: ItemDedup, twin: ModelItem, item: Item) -> None:
        before = dict(twin.data)
        twin.data.update({name: item[name] for name in dedup.update if item[name] is not None})
        self.updated[run_id] += twin.data != before

    def _drop(self, gone: ModelItem) -> None:
        gone.page[:] = [item for item in gone.page if item is not gone.data]
        self.known = {place: item for place, item in self.known.items() if item is not gone}
