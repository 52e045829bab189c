"""The compiled steps of a task: chains of rule steps, and the pipeline of items."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import PatternTimeout
from smartspider.core.functions import CRASHES
from smartspider.core.items.columns import ColumnKind
from smartspider.core.pages.extraction import Extraction, StepCount
from smartspider.core.pages.page import Page
from smartspider.interfaces.step import PageContext, ValueRejected, page_context
from smartspider.pipeline.bound_steps import BoundStep, ItemBatch, step_crashed
from smartspider.pipeline.cleaning_log import CleaningLog, add_count
from smartspider.pipeline.value_step import ConfiguredStep


class RuleStepChain:
    """The compiled steps of one rule."""

    def __init__(
        self, uses: tuple[ConfiguredStep, ...], kind: ColumnKind | None, field: str, log: CleaningLog
    ) -> None:
        self.uses = uses
        self.kind = kind
        self._field = field
        self._log = log
        self._judges = [place for place, use in enumerate(uses) if use.is_for_columns]

    def for_column(self, values: list[Any], context: PageContext) -> RuleStepChain:
        """Return the chain for a field with these values on the page; itself if nothing depends on them."""
        uses = list(self.uses)
        for place in self._judges:
            before = values if place == 0 else [self._peek(value, context, place) for value in values]
            uses[place] = uses[place].for_column(before, context)
        if all(use is own for use, own in zip(uses, self.uses, strict=True)):
            return self
        return RuleStepChain(tuple(uses), self.kind, self._field, self._log)

    def _peek(self, value: Any, context: PageContext, place: int) -> Any:
        """Return a value as the step at a place receives it, without counting; None if a step fails."""
        for use in self.uses[:place]:
            try:
                value = use.peek(value, context)
            except PatternTimeout as slow:
                raise slow.at(use.name) from None
            except CRASHES:  # reported when the step is applied
                return None
        return value

    def apply(self, value: Any, context: PageContext, item: int) -> Any:
        """Apply all steps to a value; raise `ValueRejected` or `PatternTimeout`."""
        for use in self.uses:
            before = value
            try:
                value = use.apply(value, context)
            except ValueRejected:
                raise
            except PatternTimeout as slow:
                raise slow.at(use.name) from None
            except CRASHES as error:
                use.count.rejected += 1
                raise step_crashed(use.name, error, before) from error
            if value is not before and (self._log.is_on or use.is_for_columns):
                remark = use.remark(before)
                if self._log.is_on:
                    self._log.note((item, use.name, self._field), before, value, remark)
        return value


class StepPipeline:
    """The compiled pipeline of a task. Also reports the counters of rule steps since the previous page."""

    def __init__(
        self, steps: tuple[BoundStep, ...], chains: tuple[RuleStepChain, ...], log: CleaningLog
    ) -> None:
        self._steps = steps
        self._chains = chains
        self._log = log

    def process(self, extraction: Extraction, page: Page) -> Extraction:
        """Apply all steps to the items, in order."""
        context = page_context(page, extraction.base)
        batch = ItemBatch(extraction.items, context, self._log)
        for step in self._steps:
            step.run(batch)
        counts = dict(extraction.counts)
        for name, count in self._counts():
            if count.seen:
                add_count(counts, name, count)
        changes = self._log.take()
        return msgspec.structs.replace(
            extraction,
            items=[item for item in batch.rows if item is not None],
            rejected=[*extraction.rejected, *(batch.rejected[number] for number in sorted(batch.rejected))],
            changes=[*extraction.changes, *changes],
            counts=counts,
        )

    def _counts(self) -> list[tuple[str, StepCount]]:
        uses = [use for chain in self._chains for use in chain.uses]
        counts = [(use.name, use.take_count()) for use in uses]
        return counts + [(step.name, step.take_count()) for step in self._steps]
