"""The contract of `store/logs/store.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from smartspider.core.errors import NotFound
from smartspider.core.logs import LEVELS, LogLine
from smartspider.store.logs.histogram import CountLimits, LogCounts, TimeSpan
from smartspider.store.logs.terms import LogFilter
from smartspider_testing.contracts.actions import begin
from smartspider_testing.contracts.backend import Backend, BackendContract

ALL = LogFilter()
DEBUG, INFO, WARNING, ERROR = LEVELS.values()


def line(backend: Backend, text: str = "something happened", level: int = INFO, **more: Any) -> LogLine:
    """Return a log line of the current time."""
    return LogLine(more.pop("at", backend.clock.now()), level, more.pop("event", "thing.done"), text, **more)


async def found(backend: Backend, only: LogFilter = ALL, limit: int = 3) -> list[str]:
    """Return the texts of all lines that match a filter, newest first, over as many pages as needed."""
    texts: list[str] = []
    before: int | None = None
    while True:
        page = await backend.logs.before(only, before=before, limit=limit)
        texts += [one.line.text for one in page.lines]
        assert len(page.lines) <= limit
        if page.next is None:
            return texts
        assert before is None or page.next < before
        before = page.next


async def found_on(backend: Backend, only: LogFilter = ALL, limit: int = 3, after: int = 0) -> list[str]:
    """Return the texts of all lines after a number, oldest first."""
    texts: list[str] = []
    while True:
        page = await backend.logs.after(only, after=after, limit=limit)
        texts += [one.line.text for one in page.lines]
        assert page.next is not None
        if page.next == after:
            return texts
        after = page.next


class LogStoreContract(BackendContract):
    """Log lines are stored and found."""

    async def test_lines_come_back_as_they_were(self, backend: Backend) -> None:
        """Log store 1, 7."""
        run = await begin(backend, "one")
        whole = LogLine(
            *(backend.clock.now(), WARNING, "fetch.retried", "It failed: timeout", "worker 1"),
            task_id=run.task_id,
            run_id=run.id,
            host="h.example",
            url="http://h.example/é?q=1",
            error="timeout",
            fields={"attempts": 2, "none": None, "deep": {"a": [1.5, "x"]}},
        )
        await backend.logs.add([whole, line(backend)])
        await backend.reopen()
        page = await backend.logs.after(ALL, after=0)
        assert [one.line for one in page.lines] == [whole, line(backend)]
        assert [one.id for one in page.lines] == [1, 2]
        assert await backend.logs.last_id() == 2

    async def test_numbers_only_grow(self, backend: Backend) -> None:
        """Log store 1: also when all that was there is gone, and for several processes."""
        await backend.logs.add([line(backend)] * 3)
        await backend.logs.trim(0)
        other = await backend.another()
        await asyncio.gather(*(each.logs.add([line(backend)] * 2) for each in (backend, other)))
        page = await backend.logs.after(ALL, after=0)
        assert [one.id for one in page.lines] == [4, 5, 6, 7]

    async def test_both_directions_see_each_line_once(self, backend: Backend) -> None:
        """Log store 3: also while new ones come."""
        texts = [f"line {number}" for number in range(10)]
        await backend.logs.add([line(backend, text) for text in texts])
        assert await found(backend) == texts[::-1]
        assert await found_on(backend) == texts
        assert await found_on(backend, after=7) == texts[7:]
        page = await backend.logs.before(ALL, limit=4)
        await backend.logs.add([line(backend, "late")])
        rest = await backend.logs.before(ALL, before=page.next, limit=4)
        assert [one.line.text for one in (*page.lines, *rest.lines)] == texts[::-1][:8]

    async def test_a_page_that_is_just_full_is_the_last(self, backend: Backend) -> None:
        """Log store 3."""
        await backend.logs.add([line(backend)] * 4)
        assert (await backend.logs.before(ALL, limit=4)).next is None
        assert (await backend.logs.before(ALL, limit=3)).next == 2

    async def test_nothing_is_found_where_nothing_is(self, backend: Backend) -> None:
        """Log store 3."""
        page = await backend.logs.before(ALL)
        assert (page.lines, page.next) == ([], None)
        page = await backend.logs.after(LogFilter(text="x"), after=0)
        assert (page.lines, page.next) == ([], 0)
        assert (await backend.logs.last_id(), await backend.logs.size()) == (0, 0)

    async def test_a_tail_goes_on_where_it_was(self, backend: Backend) -> None:
        """Log store 3: `next` of a search that found nothing passes what it has looked at."""
        await backend.logs.add([line(backend, host="a")] * 5)
        only = LogFilter(host="b")
        page = await backend.logs.after(only, after=0)
        assert (page.lines, page.next) == ([], 5)
        await backend.logs.add([line(backend, "first", host="b"), line(backend, host="a")])
        page = await backend.logs.after(only, after=5)
        assert ([one.id for one in page.lines], page.next) == ([6], 7)

    async def test_all_that_is_given_must_hold(self, backend: Backend) -> None:
        """Log store 2, 3: every filter, alone and with others, in both directions."""
        runs = [await begin(backend, "one"), await begin(backend, "two", name="other")]
        lines: list[LogLine] = []
        for number in range(48):
            lines.append(
                line(
                    backend,
                    f"number {number} {('even', 'odd')[number % 2]}",
                    level=(DEBUG, INFO, WARNING, ERROR)[number % 4],
                    run_id=(runs[0].id, runs[1].id, None)[number % 3],
                    task_id=(runs[0].task_id, runs[1].task_id, None)[number % 3],
                    host=("a-b.example", "a.b.example")[number // 2 % 2],
                    url=(None, "http://a.example/p?x=1", "http://a.example/p?x=12")[number // 4 % 3],
                    error=(None, "http 503", "timeout")[number % 3],
                    worker=f"worker {number % 2}",
                )
            )
            await backend.logs.add(lines[-1:])
            await backend.clock.advance(1.0)
        start = lines[0].at
        for only in (
            LogFilter(run_id=runs[0].id),
            LogFilter(task_id=runs[1].task_id),
            LogFilter(run_id=runs[0].id, task_id=runs[1].task_id),
            LogFilter(level=DEBUG),
            LogFilter(level=INFO),
            LogFilter(level=WARNING),
            LogFilter(level=ERROR),
            LogFilter(level=ERROR, run_id=runs[1].id),
            LogFilter(level=INFO, run_id=runs[1].id),
            LogFilter(levels=(INFO, ERROR)),
            LogFilter(levels=(DEBUG,)),
            LogFilter(levels=(WARNING, WARNING), run_id=runs[1].id),
            LogFilter(url="http://a.example/p?x=1"),
            LogFilter(url="http://a.example/p?x=12", levels=(WARNING, DEBUG), worker="worker 0"),
            LogFilter(url="http://a.example/p"),
            LogFilter(host="a.b.example"),
            LogFilter(host="b.example"),
            LogFilter(error="timeout", worker="worker 1"),
            LogFilter(error="http 503"),
            LogFilter(since=start + 10.0),
            LogFilter(until=start + 10.0),
            LogFilter(since=start + 10.0, until=start + 20.0, level=WARNING),
            LogFilter(since=start + 1000.0),
            LogFilter(until=start - 1000.0),
            LogFilter(since=start + 20.0, until=start + 10.0),
        ):
            wanted = [one.text for one in lines if _holds(one, only)]
            assert await found(backend, only) == wanted[::-1], only
            assert await found_on(backend, only) == wanted, only

    @pytest.mark.parametrize(
        ("asked", "finds"),
        [
            ("timeout", True),
            ("TIMEOUT connecting", True),
            ("connecting timeout", True),
            ("shop.example/catalogue/page-7", True),
            ("http://shop.example/catalogue/page-7.html?sort=price", True),
            ("7.html", True),
            ("straße", True),
            ("STRASSE", True),
            ("行", True),
            ("银行", True),
            ("cata", False),
            ("timeout refused", False),
            ("r1", False),
            ("!!!", False),
            ('"timeout', True),
            ("timeout*", True),
            ("timeout OR refused", False),
            ("words:timeout", False),
        ],
    )
    async def test_text_is_found_by_its_words(self, backend: Backend, asked: str, finds: bool) -> None:
        """Log store 2: all words, in any order, in the text or the URL, however they are written."""
        run = await begin(backend, "one")
        url = "http://shop.example/catalogue/page-7.html?sort=price"
        text = "timeout: connecting to Straße 银行 took 30 s"
        await backend.logs.add([line(backend, text, url=url, run_id=run.id), line(backend, "refused")])
        assert await found(backend, LogFilter(text=asked)) == ([text] if finds else [])

    async def test_a_line_is_found_by_its_number(self, backend: Backend) -> None:
        """Log store 1: also one with a long text, by its URL."""
        url = "http://shop.example/p?q=1"
        long = line(backend, " ".join(f"word{number}" for number in range(600)), url=url)
        await backend.logs.add([line(backend, "first"), long, line(backend, "third")])
        assert (await backend.logs.get(2)).line.url == url
        assert len(await found(backend, LogFilter(url=url))) == 1
        await backend.logs.trim(0)
        for number in (2, 99, 0, 10**18 - 1):
            with pytest.raises(NotFound):
                await backend.logs.get(number)

    async def test_lines_are_counted_by_time_and_level(self, backend: Backend) -> None:
        """Log store 8: with the filters of a search."""
        run = await begin(backend, "one")
        start = backend.clock.now()
        for number in range(24):
            level = (INFO, INFO, WARNING, ERROR)[number % 4]
            of = run.id if number % 3 else None
            host = f"h{number % 2}"
            await backend.logs.add([line(backend, f"text {number % 5}", level=level, run_id=of, host=host)])
            await backend.clock.advance(1.0)
        whole = await backend.logs.count(ALL, TimeSpan(start, start + 24.0, 6))
        assert whole == LogCounts([{INFO: 2, WARNING: 1, ERROR: 1}] * 6)
        for only in (
            LogFilter(run_id=run.id),
            LogFilter(level=WARNING),
            LogFilter(levels=(INFO, ERROR)),
            LogFilter(levels=(WARNING,), run_id=run.id),
            LogFilter(host="h1", run_id=run.id),
            LogFilter(text="text 3"),
        ):
            texts = await found(backend, only, limit=100)
            counted = await backend.logs.count(only, TimeSpan(start, start + 24.0, 200))
            assert not counted.is_estimated
            assert sum(sum(point.values()) for point in counted.points) == len(texts) > 0, only
        part = await backend.logs.count(ALL, TimeSpan(start + 4.5, start + 8.5, 1))
        assert sum(part.points[0].values()) == 4
        for nothing in (LogFilter(text="!!"), LogFilter(host="h9"), LogFilter(run_id=99)):
            assert not any((await backend.logs.count(nothing, TimeSpan(start, start + 24.0, 3))).points)
        assert not any((await backend.logs.count(ALL, TimeSpan(0.0, 10.0, 3))).points)

    async def test_many_lines_are_counted_by_a_sample(self, backend: Backend) -> None:
        """Log store 8: but not the levels that are rare."""
        start = backend.clock.now()
        lines = [
            line(backend, f"even {number % 2}", level=ERROR if number % 300 == 7 else INFO, host="h")
            for number in range(3_000)
        ]
        await backend.logs.add(lines)
        span = TimeSpan(start - 1.0, start + 1.0, 2)
        limits = CountLimits(exact=100, rare=20, blocks=(60, 5), text_blocks=(60, 5))
        counted = await backend.logs.count(ALL, span, limits)
        assert counted.is_estimated
        assert counted.points[0] == {}
        assert counted.points[1][ERROR] == 10
        assert 2_700 < counted.points[1][INFO] < 3_300
        exact = await backend.logs.count(LogFilter(level=WARNING), span, limits)
        assert exact == LogCounts([{}, {ERROR: 10}])
        by_text = await backend.logs.count(LogFilter(text="even 1", host="h"), span, limits)
        assert by_text.is_estimated
        assert 1_000 < by_text.points[1][INFO] < 2_000

    async def test_moments_stay_in_order_within_minutes(self, backend: Backend) -> None:
        """Log store 7: what waited or came from a wrong clock is found by when it was written."""
        now = backend.clock.now()
        await backend.logs.add([line(backend, "waited", at=now - 30.0), line(backend, "ahead", at=now + 1e6)])
        await backend.logs.add([line(backend, "ancient", at=0.0)])
        page = await backend.logs.after(ALL, after=0)
        waited, ahead, ancient = (one.line.at for one in page.lines)
        assert (waited, ahead) == (now - 30.0, now)
        assert now - 3600.0 < ancient < now
        assert await found(backend, LogFilter(since=now - 31.0, until=now - 29.0)) == ["waited"]

    async def test_over_the_budget_the_oldest_go(self, backend: Backend) -> None:
        """Log store 4: more than needed, so that it is rare; within it none does."""
        await backend.logs.add([line(backend, f"{number:05}" * 20) for number in range(2000)])
        whole = await backend.logs.size()
        assert whole > 2000 * 100
        assert await backend.logs.trim(whole) == 0
        removed = await backend.logs.trim(whole // 2)
        assert 1000 < removed < 2000
        assert await backend.logs.size() < whole // 2
        assert await backend.logs.trim(whole // 2) == 0
        texts = await found_on(backend, limit=500)
        assert len(texts) == 2000 - removed
        assert texts[-1] == "01999" * 20
        assert await found(backend, LogFilter(text=texts[0])) == [texts[0]]
        assert await found(backend, LogFilter(text="00000" * 20)) == []
        await backend.logs.trim(0)
        assert await backend.logs.size() == 0

    async def test_lines_from_before_a_moment_go(self, backend: Backend) -> None:
        """Log store 4: in as many steps as it takes."""
        await backend.logs.add([line(backend, "old")] * 1200)
        await backend.clock.advance(10.0)
        await backend.logs.add([line(backend, "new")])
        assert await backend.logs.delete_before(backend.clock.now()) == 1200
        assert await found_on(backend) == ["new"]
        assert await backend.logs.delete_before(backend.clock.now()) == 0
        await backend.logs.trim(0)
        assert await backend.logs.size() == 0

    async def test_a_line_that_is_strange_does_not_stop_the_others(self, backend: Backend) -> None:
        """Log store 5: too long, not text, not JSON."""
        strange = [
            line(backend, "a\x00b\ud800c", url="http://h/\udfff", host="\ud800"),
            line(backend, "long " * 100_000, url="http://h/" + "x" * 100_000, error="e" * 9999),
            line(backend, "odd", fields={"\ud800": "\udfff", "what": object(), "n": float("nan")}),
            line(backend, "big", fields={"all": "x" * 1_000_000}),
            line(backend, "many", fields={str(number): number for number in range(100_000)}),
        ]
        await backend.logs.add([*strange, line(backend, "fine")])
        page = await backend.logs.after(ALL, after=0)
        assert len(page.lines) == 6
        assert page.lines[-1].line.text == "fine"
        assert await backend.logs.size() < 200_000

    async def test_nothing_to_add_is_no_trouble(self, backend: Backend) -> None:
        """Log store 5."""
        await backend.logs.add([])
        assert await backend.logs.last_id() == 0

    async def test_a_line_of_a_run_belongs_to_its_task(self, backend: Backend) -> None:
        """Log store 7: whatever it says itself."""
        run = await begin(backend, "one")
        await backend.logs.add(
            [line(backend, "a", run_id=run.id), line(backend, "b", run_id=run.id, task_id=99)]
        )
        assert await found(backend, LogFilter(task_id=run.task_id)) == ["b", "a"]

    async def test_lines_of_a_deleted_run_are_gone(self, backend: Backend) -> None:
        """Log store 6: all of them; others stay, and late ones do not come back."""
        run, other = await begin(backend, "one"), await begin(backend, "two", name="other")
        await backend.logs.add([line(backend, "gone", run_id=run.id) for _ in range(1203)])
        await backend.logs.add(
            [line(backend, f"run {run.id} stays", run_id=other.id), line(backend, "stays")]
        )
        await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        await backend.logs.add([line(backend, "late", run_id=run.id)])
        assert await found(backend, limit=100) == ["stays", f"run {run.id} stays"]
        assert await found(backend, LogFilter(text="gone")) == []
        assert await backend.logs.size() < 1000


def _holds(one: LogLine, only: LogFilter) -> bool:
    """Return True if a line matches a filter: the reference implementation."""
    same = all(
        wanted is None or wanted == has
        for wanted, has in (
            (only.run_id, one.run_id),
            (only.task_id, one.task_id),
            (only.host, one.host),
            (only.url, one.url),
            (only.error, one.error),
            (only.worker, one.worker),
        )
    )
    return (
        same
        and (only.level is None or one.level >= only.level)
        and (not only.levels or one.level in only.levels)
        and (only.since is None or one.at >= only.since)
        and (only.until is None or one.at <= only.until)
    )
