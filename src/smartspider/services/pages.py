"""One request of a run, with all that is known about it."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.installation.installation import Installation
from smartspider.installation.settings import build_redactor
from smartspider.services.explain import EXAMPLE_BYTES, explain_in_run
from smartspider.services.results.results import step_log_view
from smartspider.services.runs.views import page_view
from smartspider.store.logs.terms import LogFilter
from smartspider.views.explain import PageDetails
from smartspider.views.logs import LogView, log_view
from smartspider.views.results import CleaningView, RejectView

SHOWN = 50
"""Items, rejected items, changed values and log lines that are returned, each."""
LINES_READ = 500


async def get_page(installation: Installation, run_id: int, page_id: int, holder: str = "") -> PageDetails:
    """Return a request of a run; raise `NotFound` if the run has none with this id."""
    run = await installation.store.get_run(run_id)
    found = await installation.diagnostics.page(run.id, page_id, SHOWN)
    if found is None:
        raise NotFound(f"run {run.id} has no request {page_id}", hint="list its requests to find the id")
    record = found.details.record
    return PageDetails(
        page=page_view(record),
        explanation=await explain_in_run(installation, run, record.url, holder, found.details),
        items=[msgspec.Raw(item.data) for item in found.items if len(item.data) <= EXAMPLE_BYTES],
        rejects=[RejectView(**_step_log_view(one, "value", "data")) for one in found.rejects],
        cleaning=[CleaningView(**_step_log_view(one, "before", "after")) for one in found.changes],
        children=found.children,
        logs=await _lines(installation, run.id, record.url),
        shown=SHOWN,
    )


def _step_log_view(stored: msgspec.Struct, *values: str) -> dict[str, Any]:
    view = step_log_view(stored, *values)
    return {**view, "url": without_userinfo(view["url"])}


async def _lines(installation: Installation, run_id: int, url: str) -> list[LogView]:
    """Return the newest log lines about a URL, as the log writes it: lines with its words, and of these the
    ones that name it.
    """
    name = build_redactor(installation.settings).fields({"url": url})["url"]
    page = await installation.logs.before(LogFilter(run_id=run_id, text=name), limit=LINES_READ)
    return [log_view(line) for line in page.lines if line.line.url == name][:SHOWN]
