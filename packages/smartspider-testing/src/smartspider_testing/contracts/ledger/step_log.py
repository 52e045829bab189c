"""Ledger 14 and store 7: rejected items and changed values of pipeline steps."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from typing import Any

import pytest

from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.pages.extraction import RejectedItem, StepCount, ValueChange
from smartspider.core.runs.plan import RunLimits
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    items,
    landed,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.backend import Backend, BackendContract

KEPT = 10_000
DEEP: dict[str, Any] = {}
for _ in range(5000):
    DEEP = {"deeper": DEEP}


async def one_page(backend: Backend, **close: Any) -> Run:
    """Complete a run with one page that is closed with these fields."""
    run = await begin(backend, "one")
    lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
    await settle(backend, Settlement(lease, Close("done", **close)))
    return run


class StepLogContract(BackendContract):
    """Rejected items and changed values can be queried."""

    async def test_a_rejected_item_is_kept_with_its_reason(self, backend: Backend) -> None:
        """Ledger 14, store 7."""
        item = {"name": "x", "price": -1}
        run = await one_page(
            backend,
            items=[{"name": "y"}],
            rejected=[
                RejectedItem("is under 0", item, "pipeline[2] range", "price", -1),
                RejectedItem("no name", {}),
            ],
        )
        first, second = await backend.store.rejects(run.id)
        assert (first.run_id, first.url) == (run.id, f"http://{HOST}/one")
        assert (first.reason, first.step, first.field) == ("is under 0", "pipeline[2] range", "price")
        assert (json.loads(first.value), json.loads(first.data)) == (-1, item)
        assert (second.reason, second.step, second.field) == ("no name", "", "")
        assert (json.loads(second.value), json.loads(second.data)) == (None, {})
        assert (await backend.store.get_run(run.id)).counters.rejected == 2

    async def test_rejects_are_read_by_a_cursor(self, backend: Backend) -> None:
        """RunStore 7: of one run, in their order, none twice and none left out."""
        run, other = await begin(backend, *urls(3)), await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        for lease in [*await take(backend, worker, run), await take_one(backend, worker, other)]:
            rejected = [RejectedItem(f"{lease.url_id} {number}", {}) for number in range(3)]
            await settle(backend, Settlement(lease, Close("done", rejected=rejected)))
        seen: list[str] = []
        after = 0
        while found := await backend.store.rejects(run.id, limit=2, after=after):
            assert len(found) <= 2
            seen += [reject.reason for reject in found]
            after = found[-1].id
        assert len(seen) == len(set(seen)) == 9
        assert seen == [reject.reason for reject in await backend.store.rejects(run.id)]
        assert len(await backend.store.rejects(other.id)) == 3

    async def test_the_first_ten_thousand_rejects_are_kept_and_all_counted(self, backend: Backend) -> None:
        """Ledger 14: within a settle and over settles."""
        run = await begin(backend, *urls(3))
        leases = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        for lease, count in zip(leases, (KEPT - 1, 5, KEPT + 5), strict=True):
            rejected = [RejectedItem("why", {})] * count
            await settle(backend, Settlement(lease, Close("done", rejected=rejected)))
        assert len(await backend.store.rejects(run.id, limit=KEPT * 3)) == KEPT
        assert (await backend.store.get_run(run.id)).counters.rejected == 2 * KEPT + 9

    @pytest.mark.parametrize("text", ["x" * 50_000, "é" * 50_000, '"\\' * 50_000, "\0" * 50_000])
    async def test_of_what_is_too_long_the_beginning_is_kept(self, backend: Backend, text: str) -> None:
        """Ledger 14: as JSON, of at most twenty thousand bytes."""
        run = await one_page(
            backend,
            rejected=[RejectedItem("long", {"text": text}, value=text)],
            changes=[ValueChange(0, "s", "f", text, 1)],
        )
        (reject,) = await backend.store.rejects(run.id)
        assert 2_000 < len(reject.value) <= 20_000
        assert json.loads(reject.value)[:-1] == text[: len(json.loads(reject.value)) - 1]
        assert json.loads(reject.data).startswith('{"text":')
        assert len(reject.data) <= 20_000
        (change,) = await backend.store.cleaning(run.id)
        assert text.startswith(json.loads(change.before)[:-1])
        assert (len(change.before) <= 20_000, change.after) == (True, b"1")

    @pytest.mark.parametrize("value", ["\ud800", object(), DEEP, {"x": [object()]}, {1: "\udfff"}])
    async def test_a_value_that_no_store_holds_costs_nothing(self, backend: Backend, value: Any) -> None:
        """Ledger 14, rule 12: the page is stored, and the reject says that its value is not."""
        run = await one_page(
            backend,
            items=[{"n": 1}],
            rejected=[RejectedItem("bad \ud800", {"value": value}, "\ud800", "\ud800", value)],
            changes=[ValueChange(0, "\ud800", "\ud800", value, value)],
            counts={"\ud800": StepCount(1)},
        )
        assert await items(backend, run) == [{"n": 1}]
        (reject,) = await backend.store.rejects(run.id)
        assert (reject.reason, reject.step, reject.field) == ("bad ?", "?", "?")
        assert "not storable" in json.loads(reject.value)
        assert "not storable" in json.loads(reject.data)
        (change,) = await backend.store.cleaning(run.id)
        assert "not storable" in json.loads(change.after)

    async def test_the_cleaning_log_is_asked_by_field_and_step(self, backend: Backend) -> None:
        """RunStore 7: a step by its name in the task or by what it uses."""
        changes = [
            ValueChange(0, "pipeline[0] trim", "name", " a", "a"),
            ValueChange(0, "pipeline[1] number", "price", "1,5", 1.5, "unsure: é"),
            ValueChange(1, "pipeline[1] number", "old_price", "x", None),
            ValueChange(1, "fields.price.steps[0] number", "price", "2", 2),
        ]
        run = await one_page(backend, changes=changes)
        everything = await backend.store.cleaning(run.id)
        assert [(change.item, change.step, change.field) for change in everything] == [
            (change.item, change.step, change.field) for change in changes
        ]
        assert (everything[1].before, everything[1].after, everything[2].after) == (b'"1,5"', b"1.5", b"null")
        assert [change.note for change in everything] == ["", "unsure: é", "", ""]
        assert {change.url for change in everything} == {f"http://{HOST}/one"}

        async def asked(**choice: Any) -> list[int]:
            return [everything.index(change) for change in await backend.store.cleaning(run.id, **choice)]

        assert await asked(field="price") == [1, 3]
        assert await asked(step="number") == [1, 2, 3]
        assert await asked(step="pipeline[1] number", field="price") == [1]
        assert await asked(step="umber") == await asked(field="pric") == await asked(step="") == []
        assert await asked(limit=1, after=everything[1].id) == [2]
        assert await asked(limit=1, after=everything[1].id, field="price") == [3]

    async def test_what_steps_did_is_summed(self, backend: Backend) -> None:
        """Ledger 14: over pages and settles, of stored pages only, by run."""
        run, other = await begin(backend, *urls(4)), await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        counts = [
            {"a": StepCount(1, 2, 3, 4, 5), "b": StepCount(5)},
            {"a": StepCount(10, 20, 30, 40, 50)},
            {"a": StepCount(100, 200, 300, 400, 500), "c": StepCount(0, 1)},
        ]
        pages = [
            Settlement(lease, Close("done", counts=count))
            for lease, count in zip(leases, counts, strict=False)
        ]
        await settle(backend, *pages[:2])
        await settle(backend, *pages)
        assert await backend.store.step_counts(run.id) == {
            "a": StepCount(111, 222, 333, 444, 555),
            "b": StepCount(5),
            "c": StepCount(0, 1),
        }
        assert await backend.store.step_counts(other.id) == {}

    async def test_steps_are_told_in_the_order_of_their_names(self, backend: Backend) -> None:
        """RunStore 7: the tenth after the ninth."""
        names = ["fields.a.steps[2] trim", "pipeline[9] trim", "pipeline[10] trim"]
        run = await one_page(backend, counts={name: StepCount(1) for name in reversed(names)})
        assert list(await backend.store.step_counts(run.id)) == names

    async def test_notes_of_a_page_that_is_not_stored_are_not_kept(self, backend: Backend) -> None:
        """Ledger 2 and 6: late ones and those beyond a limit; a landing page has its own."""
        run = await begin(backend, "a", "b", limits=RunLimits(max_pages=1))
        a, b = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        notes: dict[str, Any] = {
            "rejected": [RejectedItem("why", {})],
            "changes": [ValueChange(0, "s", "f", 1, 2)],
            "counts": {"s": StepCount(1)},
        }
        lands = Settlement(a, Close("redirect", landed=url("x"), **notes))
        await settle(backend, lands, lands, Settlement(b, Close("done", **notes)), landed(a, url("x")))
        assert [reject.url for reject in await backend.store.rejects(run.id)] == [f"http://{HOST}/x"]
        assert [change.url for change in await backend.store.cleaning(run.id)] == [f"http://{HOST}/x"]
        assert await backend.store.step_counts(run.id) == {"s": StepCount(1)}
        assert (await backend.store.get_run(run.id)).counters.rejected == 1

    async def test_a_deleted_run_leaves_no_notes(self, backend: Backend) -> None:
        """RunStore 5."""
        run = await one_page(
            backend,
            rejected=[RejectedItem("why", {})],
            changes=[ValueChange(0, "s", "f", 1, 2)],
            counts={"s": StepCount(1)},
        )
        await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        assert await backend.store.rejects(run.id) == []
        assert await backend.store.cleaning(run.id) == []
        assert await backend.store.step_counts(run.id) == {}

    async def test_sizes_tell_what_notes_take(self, backend: Backend) -> None:
        """Store: by what they are used for."""
        noise = random.Random(1)  # noqa: S311 - which no store makes smaller
        texts = [b64encode(noise.randbytes(12_000)).decode() for _ in range(50)]
        await one_page(backend, rejected=[RejectedItem("why", {"text": text}) for text in texts])
        assert (await backend.store.sizes())["rejects"] > 50 * 15_000
