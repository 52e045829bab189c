"""The contract of `store/results/store.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.items.filters import Condition
from smartspider.core.pages.extraction import Item
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.results.rows import RowQuery
from smartspider.store.results.store import FieldFill
from smartspider_testing.contracts.actions import HOST, begin, done, settle, take_one, url
from smartspider_testing.contracts.backend import Backend, BackendContract

SHOP: list[Item] = [
    {"name": "Oolong", "price": 12.5, "tags": ["tea", "green"], "seller": {"name": "Ann", "stars": 5}},
    {"name": "Assam", "price": 3, "tags": [], "seller": {"name": "Bob"}, "is_new": True},
    {"name": "pot", "price": None, "tags": ["Tea pot"], "seller": None, "is_new": False},
    {"name": "", "price": "7.0", "tags": [1, None], "a.b": {'"': "odd"}},
    {"name": "Über", "price": -4, "tags": ["tea"]},
]
DEEP: dict[str, Any] = {"name": "deep"}
for _ in range(600):
    DEEP = {"deeper": DEEP}


class GrowingRun:
    """A run that receives rows page by page."""

    def __init__(self, backend: Backend, run: Run, worker_id: int, host: str) -> None:
        self._backend, self.run, self._worker_id, self._host = backend, run, worker_id, host
        self._pages = 0

    async def add(self, *rows: Item) -> None:
        """Settle another page with these rows."""
        lease = await take_one(self._backend, self._worker_id, self.run)
        self._pages += 1
        await settle(self._backend, done(lease, url(f"page{self._pages}", host=self._host), items=rows))

    @property
    def id(self) -> int:
        """The id of the run."""
        return self.run.id


async def start_growing(backend: Backend, *rows: Item, host: str = HOST) -> GrowingRun:
    """Start a run with these rows, one per page, that can receive more."""
    run = await begin(backend, url("page0", host=host))
    made = GrowingRun(backend, run, await backend.frontier.join(WorkerRegistration("w")), host)
    for row in rows:
        await made.add(row)
    return made


async def names(backend: Backend, query: RowQuery, *, limit: int = 100) -> list[Any]:
    """Return the names of all rows, read in pages."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = await backend.results.rows(query, cursor=cursor, limit=limit)
        assert len(page.rows) <= limit
        found += [json.loads(row.data).get("name") for row in page.rows]
        if page.next is None:
            return found
        cursor = page.next


def query_of(run_id: int, *conditions: tuple[Any, ...], **more: Any) -> RowQuery:
    """Return a query with conditions."""
    return RowQuery(run_id, tuple(Condition(*condition) for condition in conditions), **more)


class ResultStoreContract(BackendContract):
    """A result store returns the rows of a run."""

    async def test_rows_come_in_the_order_they_were_committed(self, backend: Backend) -> None:
        """Result store 1: of one run, with where and when they were found."""
        other = await start_growing(backend, *SHOP[2:], host="b.example")
        run = await start_growing(backend, *SHOP)
        page = await backend.results.rows(RowQuery(run.id))
        assert [json.loads(row.data) for row in page.rows] == SHOP
        assert page.next is None
        assert {row.run_id for row in page.rows} == {run.id}
        assert [row.url for row in page.rows] == [f"http://{HOST}/page{number}" for number in range(5)]
        assert {row.created_at for row in page.rows} == {backend.clock.now()}
        assert [row async for batch in backend.store.items(run.id) for row in batch] == page.rows
        shown = [await backend.insight.page(run.id, row.page_id) for row in page.rows]
        assert [one and one.details.record.url for one in shown] == [row.url for row in page.rows]
        assert len((await backend.results.rows(RowQuery(other.id))).rows) == 3

    async def test_a_row_is_found_by_its_id(self, backend: Backend) -> None:
        """Result store 6: it is the one that is listed."""
        run = await start_growing(backend, *SHOP)
        rows = (await backend.results.rows(RowQuery(run.id))).rows
        assert [await backend.results.row(row.id) for row in rows] == rows
        for unknown in (rows[-1].id + 1, rows[0].id - 1, 0):
            assert await backend.results.row(unknown) is None

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
    @pytest.mark.parametrize(
        "query", [{}, {"is_descending": True}, {"sort": "n"}, {"sort": "n", "is_descending": True}]
    )
    async def test_pages_neither_skip_nor_repeat(
        self, backend: Backend, limit: int, query: dict[str, Any]
    ) -> None:
        """Result store 1: also when many rows have the same value."""
        run = await start_growing(backend)
        await run.add(*({"name": number, "n": number * 7 % 5} for number in range(14)))
        wanted = RowQuery(run.id, **query)
        found = await names(backend, wanted, limit=limit)
        assert sorted(found) == list(range(14))
        if "sort" not in query:
            assert found == sorted(found, reverse=bool(query))
        else:
            numbers = [name * 7 % 5 for name in found]
            assert numbers == sorted(numbers, reverse="is_descending" in query)

    @pytest.mark.parametrize(
        "query", [{}, {"is_descending": True}, {"sort": "name"}, {"sort": "name", "is_descending": True}]
    )
    async def test_rows_that_are_added_disturb_no_page(self, backend: Backend, query: dict[str, Any]) -> None:
        """Result store 1: what was there when the first page was asked for comes once."""
        run = await start_growing(backend)
        await run.add(*({"name": number} for number in range(0, 20, 2)))
        wanted = RowQuery(run.id, **query)
        page = await backend.results.rows(wanted, limit=4)
        found = [json.loads(row.data)["name"] for row in page.rows]
        while page.next is not None:
            await run.add({"name": len(found) * 2 + 1}, {"name": 101 + len(found)}, {"name": -1 - len(found)})
            page = await backend.results.rows(wanted, cursor=page.next, limit=4)
            found += [json.loads(row.data)["name"] for row in page.rows]
            if len(found) > 100:
                break
        assert len(found) == len(set(found))
        assert set(range(0, 20, 2)) <= set(found)

    @pytest.mark.parametrize(
        ("condition", "found"),
        [
            (("name", "eq", "Assam"), [1]),
            (("name", "eq", ""), [3]),
            (("name", "ne", "Assam"), [0, 2, 3, 4]),
            (("price", "eq", "3"), [1]),
            (("price", "eq", 3.0), [1]),
            (("price", "eq", "12.50"), [0]),
            (("price", "eq", "7"), []),
            (("price", "eq", ""), [2]),
            (("price", "ge", "3"), [0, 1, 3]),
            (("price", "gt", 3), [0, 3]),
            (("price", "lt", "0"), [4]),
            (("price", "le", "-4e0"), [4]),
            (("price", "gt", "x"), []),
            (("name", "gt", "Z"), [2, 4]),
            (("name", "contains", "AM"), [1]),
            (("name", "contains", "üBER"), [4]),
            (("tags", "contains", "tea"), [0, 4]),
            (("tags", "contains", "1"), [3]),
            (("tags", "contains", ""), [3]),
            (("tags", "eq", '["tea", "green"]'), [0]),
            (("tags", "eq", "[]"), [1]),
            (("tags[0]", "eq", "tea"), [0, 4]),
            (("tags[-1]", "contains", "tea"), [2, 4]),
            (("tags[7]", "exists"), []),
            (("seller.name", "eq", "Bob"), [1]),
            (("seller.stars", "exists"), [0]),
            (("seller", "exists"), [0, 1]),
            (("seller", "exists", False), [2, 3, 4]),
            (("seller.name.more", "exists"), []),
            (("name[0]", "exists"), []),
            (("is_new", "eq", "true"), [1]),
            (("is_new", "eq", False), [2]),
            (("is_new", "ge", "0"), []),
            (('"a.b"."\\""', "eq", "odd"), [3]),
            (("a.b", "exists"), []),
        ],
    )
    async def test_a_condition_chooses_rows(
        self, backend: Backend, condition: tuple[Any, ...], found: Sequence[int]
    ) -> None:
        """Result store 1 and 4: numbers as numbers, text as text, null as nothing."""
        run = await start_growing(backend)
        await run.add(*SHOP)
        query = query_of(run.id, condition)
        wanted = [SHOP[number]["name"] for number in found]
        assert await names(backend, query) == wanted
        assert await names(backend, query, limit=1) == wanted
        assert await backend.results.count(query) == (len(wanted), True)

    async def test_all_conditions_must_hold(self, backend: Backend) -> None:
        """Result store 1: also when rows are sorted."""
        run = await start_growing(backend, *SHOP)
        both = (("price", "ge", "3"), ("tags", "contains", "tea"))
        assert await names(backend, query_of(run.id, *both)) == ["Oolong"]
        assert await names(backend, query_of(run.id, both[1], sort="name")) == ["Oolong", "Über"]

    async def test_rows_are_sorted_by_kind_and_value_and_those_without_come_last(
        self, backend: Backend
    ) -> None:
        """Result store 1: numbers, texts, booleans, the rest; in both directions null is last."""
        values = [True, "b", None, 2, "a", [1], 10, False, -1.5, {"x": 1}]
        run = await start_growing(backend)
        await run.add(*({"name": value, "deep": {"value": value}} for value in values), {})
        order = [-1.5, 2, 10, "a", "b", False, True, [1], {"x": 1}]
        for path in ("name", "deep.value"):
            assert await names(backend, RowQuery(run.id, sort=path), limit=3) == [*order, None, None]
            turned = RowQuery(run.id, sort=path, is_descending=True)
            assert await names(backend, turned, limit=3) == [*reversed(order), None, None]

    async def test_a_page_with_a_rare_filter_ends_soon_and_says_where_to_go_on(
        self, backend: Backend
    ) -> None:
        """Result store 2: looked at in pages, nothing is left out."""
        run = await start_growing(backend)
        await run.add(*({"name": number} for number in range(22_000)))
        query = query_of(run.id, ("name", "ge", "21998"))
        page = await backend.results.rows(query)
        assert (page.rows, page.next is None) == ([], False)
        assert await names(backend, query) == [21_998, 21_999]

    async def test_too_many_rows_are_not_sorted(self, backend: Backend) -> None:
        """Result store 2: the refusal says how many can be."""
        run = await start_growing(backend)
        await run.add(*[{"n": 1}] * 200_001)
        with pytest.raises(RequestInvalid, match="has 200,001 rows; at most 200,000"):
            await backend.results.rows(RowQuery(run.id, sort="n"))
        assert len((await backend.results.rows(RowQuery(run.id, is_descending=True))).rows) == 100

    @pytest.mark.parametrize(
        "text", ["x'", "' OR 1=1 --", '$."x', "x; DROP TABLE item", "%", "json(1)", "\0", "\ud7ff"]
    )
    async def test_what_is_asked_for_is_never_code(self, backend: Backend, text: str) -> None:
        """Result store 3: as a value and as a key."""
        run = await start_growing(backend, {"name": text, text: 1}, {"name": "other"})
        assert await names(backend, query_of(run.id, ("name", "eq", text))) == [text]
        key = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        assert await names(backend, query_of(run.id, (key, "eq", 1))) == [text]
        assert (await names(backend, RowQuery(run.id, sort=key)))[0] == text

    @pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a[", "a[x]", "[0]", 'a"b', '"a', "a..b", "a[0]b"])
    async def test_a_path_that_means_nothing_is_refused(self, backend: Backend, path: str) -> None:
        """Result store 3: by every call."""
        run = await start_growing(backend, *SHOP)
        query = query_of(run.id, (path, "exists"))
        with pytest.raises(RequestInvalid, match="is not a path into a row"):
            await backend.results.rows(query)
        with pytest.raises(RequestInvalid, match="is not a path into a row"):
            await backend.results.count(query)
        with pytest.raises(RequestInvalid, match="is not a path into a row"):
            await backend.results.rows(RowQuery(run.id, sort=path))

    async def test_a_path_has_an_end(self, backend: Backend) -> None:
        """Result store 3."""
        run = await start_growing(backend, *SHOP)
        with pytest.raises(RequestInvalid, match="more than 20 steps"):
            await backend.results.rows(query_of(run.id, ("a" + ".a" * 20, "exists")))

    @pytest.mark.parametrize(
        "cursor",
        ["", "x", "-1", "1", "9" * 18, "9" * 30, "٣", "W10", "bnVsbA", "WzAsIngiLDFd", "WzksMSwxXQ", "é"],
    )
    async def test_a_cursor_of_something_else_is_refused(self, backend: Backend, cursor: str) -> None:
        """Result store 3: always the same error, never the rows of another query."""
        run = await start_growing(backend, *SHOP)
        for query in (RowQuery(run.id), RowQuery(run.id, sort="name")):
            with pytest.raises(RequestInvalid, match="is not a cursor of these rows"):
                await backend.results.rows(query, cursor=cursor)

    async def test_a_count_says_whether_it_is_of_all_rows(self, backend: Backend) -> None:
        """Result store 4."""
        run = await start_growing(backend)
        await run.add(*({"n": number % 2} for number in range(10)))
        assert await backend.results.count(RowQuery(run.id), at_most=3) == (10, True)
        ones = query_of(run.id, ("n", "eq", "1"))
        assert await backend.results.count(ones, at_most=10) == (5, True)
        assert await backend.results.count(ones, at_most=9) == (4, False)
        assert await backend.results.count(query_of(run.id, ("n", "eq", "2")), at_most=9) == (0, False)

    async def test_a_run_that_is_not_there_is_not_counted(self, backend: Backend) -> None:
        """Result store 4."""
        with pytest.raises(NotFound):
            await backend.results.count(RowQuery(77))
        assert (await backend.results.rows(RowQuery(77))).rows == []

    async def test_coverage_tells_how_full_fields_are(self, backend: Backend) -> None:
        """Result store 5: over the newest rows, with a few of the values."""
        run = await start_growing(backend, *SHOP)
        name, price, tags, gone = await backend.results.field_fill(run.id, ["name", "price", "tags", "gone"])
        assert name == FieldFill("name", 4, 5, ["Über", "pot", "Assam", "Oolong"])
        assert (price.filled, price.rows) == (4, 5)
        assert tags == FieldFill("tags", 4, 5, [["tea"], [1, None], ["Tea pot"], ["tea", "green"]])
        assert gone == FieldFill("gone", 0, 5, [])
        assert await backend.results.field_fill(run.id, ["price"], sample=2) == [
            FieldFill("price", 2, 2, [-4, "7.0"])
        ]

    async def test_examples_are_few_and_short(self, backend: Backend) -> None:
        """Result store 5."""
        run = await start_growing(backend)
        await run.add(
            *({"n": number % 20, "long": "x" * 10_000, "list": ["y" * 1000]} for number in range(40))
        )
        n, long, many = await backend.results.field_fill(run.id, ["n", "long", "list"])
        assert (n.filled, n.examples) == (40, [19, 18, 17, 16, 15])
        assert long.examples == ["x" * 200 + "…"]
        assert [len(example) for example in many.examples] == [201]

    async def test_large_rows_make_short_pages(self, backend: Backend) -> None:
        """Result store 5: and all of them come."""
        run = await start_growing(backend)
        for number in range(6):
            await run.add({"name": number, "text": "x" * 6_000_000})
        for query in (RowQuery(run.id), RowQuery(run.id, sort="name"), query_of(run.id, ("text", "exists"))):
            page = await backend.results.rows(query)
            assert 1 <= len(page.rows) < 6
            assert await names(backend, query) == list(range(6))

    async def test_others_have_a_turn_while_rows_are_looked_through(self, backend: Backend) -> None:
        """Result store 5."""
        run = await start_growing(backend)
        await run.add(*({"n": number} for number in range(20_000)))
        for asking, pieces in (
            (backend.results.rows(query_of(run.id, ("n", "eq", "x"))), 2),
            (backend.results.rows(RowQuery(run.id, sort="n")), 10),
            (backend.results.count(query_of(run.id, ("n", "eq", "x"))), 10),
            (backend.results.field_fill(run.id, ["n"], sample=20_000), 10),
        ):
            task: asyncio.Future[object] = asyncio.ensure_future(asking)
            turns = 0
            while not task.done():
                turns += 1
                await asyncio.sleep(0)
            assert turns >= pieces

    async def test_rows_that_are_nested_deep_are_rows(self, backend: Backend) -> None:
        """Result store 5."""
        run = await start_growing(backend, {"name": "a", "deep": DEEP}, {"name": "b"})
        assert await names(backend, query_of(run.id, ("name", "eq", "a"))) == ["a"]
        assert await names(backend, RowQuery(run.id, sort="deep")) == ["a", "b"]
        (deep,) = await backend.results.field_fill(run.id, ["deep"])
        assert deep.filled == 1
