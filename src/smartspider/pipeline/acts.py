"""Steps at work on the items of a page: each act goes through all items, so that one step costs one loop."""

from __future__ import annotations

from typing import Any, Protocol

from smartspider.core.pages.extraction import Item, RejectedItem, StepCount
from smartspider.interfaces.step import Around, ItemStep, Refused, StepFailed
from smartspider.pipeline.counting import CleaningLog
from smartspider.pipeline.paths import Path, changed_at, value_at
from smartspider.pipeline.plain import refuse_foreign
from smartspider.pipeline.use import OnError, StepUse, differs


class Batch:
    """The items of a page on their way through the pipeline; a rejected one leaves a gap."""

    def __init__(self, items: list[Item], around: Around, log: CleaningLog) -> None:
        self.rows: list[Item | None] = [dict(item) for item in items]
        self.around = around
        self.log = log
        self.rejected: dict[int, RejectedItem] = {}

    def reject(self, number: int, refused: Refused, field: str) -> None:
        """Takes an item out, with what it failed at."""
        reason = f"{field or 'the item'} {refused.reason}"
        item = self.rows[number] or {}
        self.rejected[number] = RejectedItem(reason, item, refused.step, field, refused.value)
        self.rows[number] = None


class Act(Protocol):
    """A step of the pipeline, bound to its fields. Raises nothing: what fails is a reject of the batch."""

    name: str

    def run(self, batch: Batch) -> None:
        """Treats all items."""

    def take_count(self) -> StepCount:
        """What it did since the last time."""


class FieldsAct:
    """A value step on some fields, or on all of them."""

    def __init__(self, use: StepUse, paths: tuple[Path, ...] | None) -> None:
        self.name = use.name
        self._use = use
        self._names = None if paths is None else tuple(path[0] for path in paths if len(path) == 1)
        self._paths = tuple(path for path in paths or () if len(path) > 1)
        self._field = ""
        self.take_count = use.take_count

    def run(self, batch: Batch) -> None:
        """Treats the fields, item by item."""
        for number, item in enumerate(batch.rows):
            if item is None:
                continue
            self._field = ""
            try:
                self._treat(item, number, batch)
                for path in self._paths:
                    item = batch.rows[number] = self._treat_inside(path, item, number, batch)  # noqa: PLW2901
            except Refused as refused:
                batch.reject(number, refused, self._field)
            except Exception as error:  # noqa: BLE001 - a step that breaks costs its item, never the page
                self._use.count.rejected += 1
                batch.reject(number, broken(self.name, error, item.get(self._field)), self._field)

    def _treat(self, item: Item, number: int, batch: Batch) -> None:
        # Every value of every item passes here: what `StepUse.treat` does for one plain value stands inline.
        use, around = self._use, batch.around
        treat_one, count = use.treat_one, use.count
        for field in item if self._names is None else self._names:
            value = item.get(field)
            if value is None and not use.takes_null:
                continue
            self._field = field
            if type(value) is list:
                new = use.treat(value, around)
            else:
                count.seen += 1
                try:
                    new = treat_one(value, around)
                except StepFailed as failed:
                    new = use.failed(value, failed.reason)
                else:
                    if new is value or not differs(new, value):
                        continue
                    count.changed += 1
            if new is not value:
                item[field] = new
                if batch.log.is_on:
                    batch.log.note(number, self.name, field, value, new)

    def _treat_inside(self, path: Path, item: Item, number: int, batch: Batch) -> Item:
        use, around = self._use, batch.around
        self._field = ".".join(path)
        if use.takes_null and not isinstance(value_at(item, path[:-1]), dict | list):
            use.treat(None, around)
            return item
        treated: Item = changed_at(item, path, lambda value: use.treat(value, around))
        if treated is not item and batch.log.is_on:
            batch.log.note(number, self.name, self._field, value_at(item, path), value_at(treated, path))
        return treated


class AsideAct:
    """A value step that finds something to put into another field, such as a currency."""

    def __init__(self, use: StepUse, paths: tuple[Path, ...] | None, target: str) -> None:
        self.name = use.name
        self._step: Any = use.step
        self._target = target
        self._found: Any = None
        use.treat_one = self._treat_one
        self._use = use
        self._paths = paths
        self.take_count = use.take_count

    def run(self, batch: Batch) -> None:
        """Treats the fields, and fills the other one; it keeps what it has where nothing is found."""
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
                    batch.rows[number] = item = self._treated(path, item, number, batch)  # noqa: PLW2901
                    target = self._target.replace("*", field)
                    found[target] = found.get(target) or self._found
            except Refused as refused:
                batch.reject(number, refused, field)
                continue
            except Exception as error:  # noqa: BLE001 - as above
                self._use.count.rejected += 1
                batch.reject(number, broken(self.name, error, item.get(field)), field)
                continue
            for target, value in found.items():
                if value is not None or target not in item:
                    item[target] = value

    def _treated(self, path: Path, item: Item, number: int, batch: Batch) -> Item:
        treated: Item = changed_at(item, path, lambda value: self._use.treat(value, batch.around))
        if treated is not item and batch.log.is_on:
            batch.log.note(number, self.name, ".".join(path), value_at(item, path), value_at(treated, path))
        return treated

    def _treat_one(self, value: Any, around: Around) -> Any:
        new, found = self._step.treat_aside(value, around)
        self._found = self._found or found
        return new


class ItemAct:
    """A step on items as a whole."""

    def __init__(self, name: str, step: ItemStep, on_error: OnError | None, *, is_foreign: bool) -> None:
        self.name = name
        self._step = step
        self._keeps = on_error in ("null", "keep")
        self._is_foreign = is_foreign
        self._count = StepCount()

    def take_count(self) -> StepCount:
        """What it did since the last time."""
        taken, self._count = self._count, StepCount()
        return taken

    def run(self, batch: Batch) -> None:
        """Treats the items."""
        for number, item in enumerate(batch.rows):
            if item is None:
                continue
            self._count.seen += 1
            try:
                new = self._treated(item, batch.around)
            except StepFailed as failed:
                if not self._keeps:
                    self._count.rejected += 1
                    batch.reject(number, Refused(self.name, failed.reason, None), "")
                continue
            except Exception as error:  # noqa: BLE001 - as above
                self._count.rejected += 1
                batch.reject(number, broken(self.name, error, None), "")
                continue
            if differs(new, item):
                self._count.changed += 1
                batch.rows[number] = new
                if batch.log.is_on:
                    self._note(number, item, new, batch.log)

    def _treated(self, item: Item, around: Around) -> Item:
        new = self._step.treat_item(dict(item), around)
        if self._is_foreign:
            refuse_foreign(new)
            if not isinstance(new, dict):
                raise StepFailed(f"became {type(new).__name__}, not an item")
        return new

    def _note(self, number: int, old: Item, new: Item, log: CleaningLog) -> None:
        for field in dict.fromkeys((*old, *new)):
            if differs(new.get(field), old.get(field)):
                log.note(number, self.name, field, old.get(field), new.get(field))


def broken(step: str, error: Exception, value: Any) -> Refused:
    """What an error that no step should raise means for the value it happened at."""
    return Refused(step, f"broke the step: {type(error).__name__}: {str(error)[:200]}", value)
