"""The audit over REST."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest
from tests.unit.api.asking import Caller

from smartspider.backends.sqlite.database import FILE
from smartspider.operations.services import Services


async def filled(services: Services) -> None:
    for number in range(5):
        who = "ann" if number % 2 else "bob"
        await services.installation.audit.append(who, "task.changed", f"task:{number}", {"n": number})
    await services.installation.audit.append("ann", "run.created", "run:1", {})


async def test_entries_are_listed_newest_first_a_page_at_a_time(api: Caller, services: Services) -> None:
    await filled(services)
    seen, cursor = [], ""
    while True:
        page = (await api.get(f"/api/audit?limit=4{cursor}")).expect(200).json
        seen.append([int(one["id"]) for one in page["items"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == [[6, 5, 4, 3], [2, 1]]


async def test_entries_are_found_by_what_they_tell(api: Caller, services: Services) -> None:
    await filled(services)

    async def found(**only: str) -> list[str]:
        page = (await api.get("/api/audit", params=only)).expect(200).json
        return [one["subject"] for one in page["items"]]

    assert await found(action="run.created") == ["run:1"]
    assert await found(subject="task:3") == ["task:3"]
    assert await found(actor="ann") == ["run:1", "task:3", "task:1"]
    assert await found(actor="ann", action="task.changed") == ["task:3", "task:1"]
    assert len(await found(since="2020-01-01")) == 6
    assert await found(since="2999-01-01T00:00:00Z") == []
    assert len(await found(since="0")) == 6


@pytest.mark.parametrize("query", ["since=yesterday", "since=nan", "cursor=x", "limit=0", "action="])
async def test_a_wrong_filter_is_422(api: Caller, query: str) -> None:
    (await api.get(f"/api/audit?{query}")).expect(422)


async def test_a_whole_chain_is_told_from_a_broken_one(api: Caller, services: Services) -> None:
    await filled(services)
    whole = (await api.get("/api/audit/verify")).expect(200).json
    assert (whole["valid"], whole["entries"], whole["broken_entry"]) == (True, 6, None)
    with closing(apsw.Connection(str(services.installation.path / FILE))) as connection:
        connection.execute("UPDATE audit SET actor = 'eve' WHERE id = 4")
    broken = (await api.get("/api/audit/verify")).expect(200).json
    assert (broken["valid"], broken["entries"], broken["broken_entry"]) == (False, 3, "4")
