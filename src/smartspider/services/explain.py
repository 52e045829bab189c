"""Why a URL was fetched or not: what the store knows, or which rule keeps it out."""

from __future__ import annotations

import msgspec

from smartspider.core import admission
from smartspider.core.errors import TaskInvalid
from smartspider.core.fingerprint import fingerprint
from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.core.urls import canonical_url, normal_url
from smartspider.core.verdict import UrlState
from smartspider.interfaces.store import Store, UrlRecord


class Explanation(msgspec.Struct, frozen=True):
    """What is known about a URL in one run."""

    url: str
    canonical: str
    fingerprint: str
    run_id: str
    verdict: str
    """One sentence."""
    record: UrlRecord | None = None


async def explain(
    store: Store, run: Run, plan: Plan, url: str, robots_line: str | None = None
) -> Explanation:
    """Why a URL was or was not fetched in a run. `robots_line` is the line of robots.txt that forbids it."""
    normal = normal_url(url)
    if normal is None:
        raise TaskInvalid(
            f"{url!r} is not an http or https URL", hint="write it with its scheme: https://..."
        )
    canonical = canonical_url(normal, plan.canonical)
    print_ = fingerprint(canonical)
    records = await store.find_urls(print_, run.id)
    record = records[0] if records else None
    if record is not None:
        verdict = _known(record)
    else:
        visited = [receipt.host for receipt in await store.receipt(run.id)]
        refusal = admission.refusal(plan, plan.scope.joined_by(visited), normal, canonical)
        verdict = _unknown(run, refusal, robots_line)
    return Explanation(normal, canonical, print_.hex(), str(run.id), verdict, record)


def _known(record: UrlRecord) -> str:
    """The state of a row, in a sentence."""
    sentences: dict[UrlState, str] = {
        "open": f"not fetched yet: {record.place}",
        "done": f"fetched and stored, status {record.status}, {record.items} items",
        "redirect": f"redirected {record.reason}",
        "missing": f"the server has no such page ({record.reason})",
        "skipped": f"not fetched: {record.reason}",
        "dead": f"given up: {record.reason}",
        "broken": f"fetched, but not readable: {record.reason}",
    }
    return sentences[record.state]


def _unknown(run: Run, refusal: str | None, robots_line: str | None) -> str:
    """No row: a rule keeps it out, or no page of the run linked to it."""
    if refusal is not None:
        return f"would not be fetched: {refusal}"
    if robots_line is not None:
        return f"would not be fetched: robots.txt says {robots_line!r}"
    if run.counters.open:
        return "not found so far: no page fetched yet links to it by a rule of the task"
    return "never found: no page of the run links to it by a rule of the task"
