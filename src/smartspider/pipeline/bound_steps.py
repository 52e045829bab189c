"""Steps of the pipeline, bound to fields. Each step loops over all items of a page."""

from __future__ import annotations

from typing import Any, Protocol

from smartspider.core.errors import PatternTimeout
from smartspider.core.functions import CRASHES, error_text, pass_interrupt, printing_apart
from smartspider.core.items.json_value import NotJson, copied, is_json_value, json_value
from smartspider.core.pages.extraction import Item, RejectedItem, StepCount
from smartspider.interfaces.step import ItemStep, PageContext, StepFailed, ValueRejected
from smartspider.pipeline.cleaning_log import CleaningLog
from smartspider.pipeline.paths import Path, change_at, column_at, value_at
from smartspider.pipeline.value_step import ConfiguredStep, OnError, differs


class ItemBatch:
    """The items of a page in the pipeline; a rejected item is None."""

    def __init__(self, items: list[Item], context: PageContext, log: CleaningLog) -> None:
        self.rows: list[Item | None] = [dict(item) for item in items]
        self.context = context
        self.log = log
        self.rejected: dict[int, RejectedItem] = {}

    def reject(self, number: int, refused: ValueRejected, field: str) -> None:
        """Remove an item and record why."""
        reason = f"{field or 'the item'} {refused.reason}"
        item = self.rows[number] or {}
        self.rejected[number] = RejectedItem(reason, item, refused.step, field, refused.value)
        self.rows[number] = None

    def note_change(
        self, place: tuple[int, str, str], step: ConfiguredStep, path: Path, items: tuple[Item, Item]
    ) -> None:
        """Log the change of a field between two states of an item, and count it if it is a guess."""
        before, after = items
        if after is before:
            return
        old = value_at(before, path)
        remark = step.remark(old)
        if self.log.is_on:
            self.log.note(place, old, value_at(after, path), remark)


class BoundStep(Protocol):
    """A step bound to its fields. Failures reject items of the batch."""

    name: str

    def run(self, batch: ItemBatch) -> None:
        """Apply the step to all items; raise `PatternTimeout`."""

    def take_count(self) -> StepCount:
        """Return and reset the counters."""


class FieldsStep:
    """Applies a value step to some or all fields."""

    def __init__(self, step: ConfiguredStep, paths: tuple[Path, ...] | None) -> None:
        self.name = step.name
        self._configured = step
        self._names = None if paths is None else tuple(path[0] for path in paths if len(path) == 1)
        self._paths = tuple(path for path in paths or () if len(path) > 1)
        self._field = ""
        self.take_count = step.take_count

    def run(self, batch: ItemBatch) -> None:
        """Apply the step to the fields of each item."""
        judged = self._judge(batch) if self._configured.is_for_columns else None
        for number, item in enumerate(batch.rows):
            if item is None:
                continue
            self._field = ""
            try:
                if judged is None:
                    self._apply(item, number, batch)
                for path in self._paths if judged is None else judged:
                    step = self._configured if judged is None else judged[path]
                    item = batch.rows[number] = self._apply_at(path, step, number, batch)  # noqa: PLW2901
            except ValueRejected as refused:
                batch.reject(number, refused, self._field)
            except PatternTimeout as slow:
                raise slow.at(self.name) from None
            except CRASHES as error:  # a step that breaks costs its item, never the page
                self._configured.count.rejected += 1
                batch.reject(number, step_crashed(self.name, error, item.get(self._field)), self._field)

    def _judge(self, batch: ItemBatch) -> dict[Path, ConfiguredStep] | None:
        """Return the step of each column; None if it is the same for all."""
        rows = [item for item in batch.rows if item is not None]
        names = dict.fromkeys(name for item in rows for name in item) if self._names is None else self._names
        paths = [*((name,) for name in names), *self._paths]
        judged = {path: self._configured.for_column(column_at(rows, path), batch.context) for path in paths}
        return None if all(step is self._configured for step in judged.values()) else judged

    def _apply(self, item: Item, number: int, batch: ItemBatch) -> None:
        # The hot path: `ConfiguredStep.apply` is inlined for plain values.
        step, context = self._configured, batch.context
        apply_one, count = step.apply_one, step.count
        for field in item if self._names is None else self._names:
            value = item.get(field)
            if value is None and not step.takes_null:
                continue
            self._field = field
            if type(value) is list:
                new = step.apply(value, context)
            else:
                count.seen += 1
                try:
                    new = apply_one(value, context)
                except StepFailed as failed:
                    new = step.failed(value, failed.reason)
                else:
                    if new is value or not differs(new, value):
                        continue
                    count.changed += 1
            if new is not value:
                item[field] = new
                if batch.log.is_on:
                    batch.log.note((number, self.name, field), value, new)

    def _apply_at(self, path: Path, step: ConfiguredStep, number: int, batch: ItemBatch) -> Item:
        item, context = batch.rows[number] or {}, batch.context
        self._field = ".".join(path)
        if step.takes_null and not isinstance(value_at(item, path[:-1]), dict | list):
            step.apply(None, context)
            return item
        changed: Item = change_at(item, path, lambda value: step.apply(value, context))
        batch.note_change((number, self.name, self._field), step, path, (item, changed))
        return changed


class ExtraFieldStep:
    """Applies a value step that also fills another field, such as a currency."""

    def __init__(self, step: ConfiguredStep, paths: tuple[Path, ...] | None, target: str) -> None:
        self.name = step.name
        self._step: Any = step.step
        self._target = target
        self._found: Any = None
        self._of_columns: dict[Path, ConfiguredStep] = {}
        step.apply_one = self._apply_one
        self._configured = step
        self._paths = paths
        self.take_count = step.take_count

    def run(self, batch: ItemBatch) -> None:
        """Apply the step, and set the other field where a value was found."""
        self._judge(batch)
        for number, item in enumerate(batch.rows):
            if item is None:
                continue
            paths = self._paths if self._paths is not None else tuple((name,) for name in item)
            found: dict[str, Any] = {}
            field = ""
            try:
                for path in paths:
                    field = ".".join(path)
                    self._found = None
                    batch.rows[number] = item = self._apply(path, item, number, batch)  # noqa: PLW2901
                    target = self._target.replace("*", field)
                    found[target] = found.get(target) or self._found
            except ValueRejected as refused:
                batch.reject(number, refused, field)
                continue
            except PatternTimeout as slow:
                raise slow.at(self.name) from None
            except CRASHES as error:
                self._configured.count.rejected += 1
                batch.reject(number, step_crashed(self.name, error, item.get(field)), field)
                continue
            for target, value in found.items():
                if value is not None or target not in item:
                    item[target] = value

    def _judge(self, batch: ItemBatch) -> None:
        """Find the step of each column."""
        self._of_columns.clear()
        if not self._configured.is_for_columns:
            return
        rows = [item for item in batch.rows if item is not None]
        names = dict.fromkeys((name,) for item in rows for name in item)
        for path in self._paths if self._paths is not None else names:
            step = self._configured.for_column(column_at(rows, path), batch.context)
            if step is not self._configured:
                step.apply_one = self._apply_one
                self._of_columns[path] = step

    def _apply(self, path: Path, item: Item, number: int, batch: ItemBatch) -> Item:
        step = self._of_columns.get(path, self._configured)
        self._step = step.step
        changed: Item = change_at(item, path, lambda value: step.apply(value, batch.context))
        batch.note_change((number, self.name, ".".join(path)), step, path, (item, changed))
        return changed

    def _apply_one(self, value: Any, context: PageContext) -> Any:
        new, found = self._step.apply_with_extra(value, context)
        self._found = self._found or found
        return new


class WholeItemStep:
    """Applies a step to whole items."""

    def __init__(self, name: str, step: ItemStep, on_error: OnError | None, *, is_foreign: bool) -> None:
        self.name = name
        self._step = step
        self._keeps = on_error in ("null", "keep")
        self._is_foreign = is_foreign
        self._count = StepCount()

    def take_count(self) -> StepCount:
        """Return and reset the counters."""
        taken, self._count = self._count, StepCount()
        return taken

    def run(self, batch: ItemBatch) -> None:
        """Apply the step to each item."""
        for number, item in enumerate(batch.rows):
            if item is None:
                continue
            self._count.seen += 1
            try:
                new = self._apply(item, batch.context)
            except StepFailed as failed:
                if not self._keeps:
                    self._count.rejected += 1
                    batch.reject(number, ValueRejected(self.name, failed.reason, None), "")
                continue
            except PatternTimeout as slow:
                raise slow.at(self.name) from None
            except CRASHES as error:
                self._count.rejected += 1
                batch.reject(number, step_crashed(self.name, error, None), "")
                continue
            if differs(new, item):
                self._count.changed += 1
                batch.rows[number] = new
                if batch.log.is_on:
                    self._note(number, item, new, batch.log)

    def _apply(self, item: Item, context: PageContext) -> Item:
        if not self._is_foreign:
            return self._step.apply_item(dict(item), context)
        with printing_apart():
            found: Any = self._step.apply_item(copied(item), context)
            new: Any = found if is_json_value(found) else json_value(found)
        if not isinstance(new, dict):
            raise NotJson(f"{type(found).__name__}, not an item")
        return new

    def _note(self, number: int, old: Item, new: Item, log: CleaningLog) -> None:
        for field in dict.fromkeys((*old, *new)):
            if differs(new.get(field), old.get(field)):
                log.note((number, self.name, field), old.get(field), new.get(field))


def step_crashed(step: str, error: BaseException, value: Any) -> ValueRejected:
    """Return the rejection for an unexpected error of a step; raise a Ctrl-C again."""
    pass_interrupt(error)
    if isinstance(error, NotJson):
        return ValueRejected(step, f"became {error}", value)
    return ValueRejected(step, f"caused an error in the step: {error_text(error)}", value)
