"""The contract of `store/audit.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import msgspec

from smartspider.core.audit import CHAIN_START, AuditHead, find_break
from smartspider.store.audit import AuditFilter
from smartspider_testing.contracts.backend import Backend, BackendContract


async def audit_rows(backend: Backend) -> list[tuple[str, str, str, Any]]:
    """Return all audit entries, oldest first, as actor, action, subject and detail."""
    entries = await backend.audit.entries(limit=10_000)
    return [
        (one.actor, one.action, one.subject, msgspec.json.decode(one.detail)) for one in reversed(entries)
    ]


class AuditLogContract(BackendContract):
    """The audit log is append-only."""

    async def test_entries_are_numbered_and_bound_to_each_other(self, backend: Backend) -> None:
        """Audit log 1, 3."""
        written = []
        for number in range(5):
            written.append(await backend.audit.append("ann", "thing.done", f"thing:{number}", {"n": number}))
            await backend.clock.advance(1.0)
        await backend.reopen()
        entries = (await backend.audit.entries())[::-1]
        assert entries == written
        assert [one.id for one in entries] == [1, 2, 3, 4, 5]
        assert entries[0].previous == CHAIN_START.hash
        assert all(later.previous == earlier.hash for earlier, later in pairwise(entries))
        assert all(later.at == earlier.at + 1.0 for earlier, later in pairwise(entries))
        assert find_break(entries) is None

    async def test_an_empty_audit_is_whole(self, backend: Backend) -> None:
        """Audit log 3."""
        check = await backend.audit.verify()
        assert (check.head, check.broken) == (CHAIN_START, None)

    async def test_moments_never_go_back(self, backend: Backend) -> None:
        """Audit log 1: also when the clock on the wall does."""
        first = await backend.audit.append("ann", "thing.done", "thing:1", {})
        backend.clock.wind(-3600.0)
        second = await backend.audit.append("ann", "thing.done", "thing:1", {})
        assert second.at >= first.at

    async def test_a_long_chain_is_verified_piece_by_piece(self, backend: Backend) -> None:
        """Audit log 3: as many pieces as it takes, and none of the last one left out."""
        last = [await backend.audit.append("ann", "thing.done", "thing:1", {"n": n}) for n in range(1003)][-1]
        check = await backend.audit.verify()
        assert (check.head, check.broken) == (AuditHead(last.id, last.hash), None)

    async def test_several_processes_write_one_chain(self, backend: Backend) -> None:
        """Audit log 1, 3."""
        others = [backend, await backend.another(), await backend.another()]
        await asyncio.gather(
            *(each.audit.append(f"a{n}", "thing.done", "thing:1", {}) for n, each in enumerate(others * 5))
        )
        assert (await backend.audit.verify()).head.id == 15

    async def test_texts_of_all_kinds_come_back_as_they_were(self, backend: Backend) -> None:
        """Audit log 1."""
        texts = ["", "über", "任务", 'quo"te', "back\\slash", "0", "1e5", " "]
        for text in texts:
            await backend.audit.append(text, text, text, {"text": text, "n": 1.5, "none": None})
        assert await audit_rows(backend) == [
            (text, text, text, {"text": text, "n": 1.5, "none": None}) for text in texts
        ]

    async def test_a_zero_byte_is_kept_as_a_sign_for_it(self, backend: Backend) -> None:
        """Audit log 1, 4: not every database keeps it in a text; the detail is kept as it is."""
        await backend.audit.append("a\0b", "c\0d", "e\0f", {"text": "g\0h"})
        assert await audit_rows(backend) == [("a\ufffdb", "c\ufffdd", "e\ufffdf", {"text": "g\0h"})]
        assert len(await backend.audit.entries(AuditFilter(subject="e\0f"))) == 1

    async def test_entries_are_listed_newest_first_by_a_cursor(self, backend: Backend) -> None:
        """Audit log 4: new ones on the way neither skip nor repeat another."""
        for number in range(5):
            await backend.audit.append("ann", "thing.done", f"thing:{number}", {})
        pages = [await backend.audit.entries(limit=2)]
        while pages[-1]:
            await backend.audit.append("bob", "thing.done", "thing:9", {})
            pages.append(await backend.audit.entries(before=pages[-1][-1].id, limit=2))
        assert [[one.id for one in page] for page in pages] == [[5, 4], [3, 2], [1], []]

    async def test_entries_are_found_by_what_is_asked_for(self, backend: Backend) -> None:
        """Audit log 4: all that is given must hold."""
        moments = []
        for number in range(12):
            actor, action = ("ann", "bob")[number % 2], ("task.made", "task.gone", "run.made")[number % 3]
            entry = await backend.audit.append(actor, action, f"task:{number % 4}", {})
            moments.append(entry.at)
            await backend.clock.advance(1.0)
        found = {
            AuditFilter(action="task.gone"): [11, 8, 5, 2],
            AuditFilter(subject="task:1"): [10, 6, 2],
            AuditFilter(actor="ann"): [11, 9, 7, 5, 3, 1],
            AuditFilter(action="task.made", actor="ann"): [7, 1],
            AuditFilter(action="run.made", actor="bob", subject="task:3"): [12],
            AuditFilter(since=moments[9]): [12, 11, 10],
            AuditFilter(since=moments[8] + 0.5, actor="bob"): [12, 10],
            AuditFilter(since=moments[-1] + 0.5): [],
            AuditFilter(action="task"): [],
        }
        for only, wanted in found.items():
            assert [one.id for one in await backend.audit.entries(only)] == wanted, only
            assert [one.id for one in await backend.audit.entries(only, before=9, limit=2)] == [
                number for number in wanted if number < 9
            ][:2], only
