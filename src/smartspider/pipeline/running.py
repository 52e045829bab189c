"""The compiled steps of a task: the treatment of a rule's values, and the pipeline of all items."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.items.columns import ColumnKind
from smartspider.core.pages.extraction import Extraction, StepCount
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import Around, Refused
from smartspider.pipeline.acts import Act, Batch, broken
from smartspider.pipeline.counting import CleaningLog, added
from smartspider.pipeline.use import StepUse


class RuleTreatment:
    """The steps of one rule."""

    def __init__(
        self, uses: tuple[StepUse, ...], kind: ColumnKind | None, field: str, log: CleaningLog
    ) -> None:
        self.uses = uses
        self.kind = kind
        self._field = field
        self._log = log

    def treat(self, value: Any, around: Around, item: int) -> Any:
        """The value after all steps; raises `Refused`."""
        for use in self.uses:
            before = value
            try:
                value = use.treat(value, around)
            except Refused:
                raise
            except Exception as error:
                use.count.rejected += 1
                raise broken(use.name, error, before) from error
            if value is not before and self._log.is_on:
                self._log.note(item, use.name, self._field, before, value)
        return value


class StepPipeline:
    """The steps of a task, with what the steps of its rules did since the page before."""

    def __init__(
        self, acts: tuple[Act, ...], treatments: tuple[RuleTreatment, ...], log: CleaningLog
    ) -> None:
        self._acts = acts
        self._treatments = treatments
        self._log = log

    def treat(self, extraction: Extraction, page: Page) -> Extraction:
        """The items after all steps, in their order."""
        around = Around(page.url, extraction.base, page.fetched_at)
        batch = Batch(extraction.items, around, self._log)
        for act in self._acts:
            act.run(batch)
        counts = dict(extraction.counts)
        for name, count in self._counts():
            if count.seen:
                added(counts, name, count)
        changes = self._log.take()
        return msgspec.structs.replace(
            extraction,
            items=[item for item in batch.rows if item is not None],
            rejected=[*extraction.rejected, *(batch.rejected[number] for number in sorted(batch.rejected))],
            changes=[*extraction.changes, *changes],
            counts=counts,
        )

    def _counts(self) -> list[tuple[str, StepCount]]:
        uses = [use for treatment in self._treatments for use in treatment.uses]
        counts = [(use.name, use.take_count()) for use in uses]
        return counts + [(act.name, act.take_count()) for act in self._acts]
