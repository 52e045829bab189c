"""Requests and their gates, made ready to be told."""

from __future__ import annotations

import msgspec

from smartspider.core.redaction import without_userinfo
from smartspider.store.diagnostics.requests import RequestDetails
from smartspider.views.explain import AttemptView, GateView, LeaseView, RecordView, SentView
from smartspider.views.times import format_time

EXAMPLE_BYTES = 20_000
"""Items that are longer are not shown as examples."""


def record_view(story: RequestDetails) -> RecordView:
    """A request of a run."""
    record = story.record
    return RecordView(
        id=str(record.id),
        run_id=str(record.run_id),
        url=without_userinfo(record.url),
        method=story.method,
        body_bytes=story.body_bytes,
        fingerprint=story.fingerprint.hex(),
        visit=story.visit,
        state=record.state,
        reason=without_userinfo(record.reason),
        status=record.status,
        page=record.page,
        depth=record.depth,
        priority=record.priority,
        attempts=record.attempts,
        returns=record.returns,
        items=record.items,
        is_entry=story.is_entry,
        parent=record.parent and without_userinfo(record.parent),
        target=record.target and without_userinfo(record.target),
        found_at=format_time(record.found_at),
        closed_at=format_time(record.closed_at),
        place=record.place,
        due_at=format_time(story.due_at),
        lease=_lease(story),
        failures=[
            AttemptView(format_time(failure.at), failure.status, failure.reason, failure.elapsed_s)
            for failure in record.failures
        ],
        examples=[msgspec.Raw(item.data) for item in story.items if len(item.data) <= EXAMPLE_BYTES],
    )


def _lease(story: RequestDetails) -> LeaseView | None:
    lease = story.lease
    if lease is None:
        return None
    return LeaseView(lease.worker, format_time(lease.sent_at), format_time(lease.deadline_at))


def gate_view(story: RequestDetails) -> GateView:
    """The gate a request stands at, or stood at."""
    gate = story.gate
    is_held = gate.held_until > story.now
    return GateView(
        host=gate.host,
        delay_s=gate.delay_s,
        delay_set_by=gate.set_by,
        opens_at=format_time(gate.opens_at) if gate.opens_at > story.now else None,
        held_until=format_time(gate.held_until) if is_held else None,
        hold_reason=gate.hold_reason if is_held else "",
        in_flight=gate.in_flight,
        per_host=gate.per_host,
        sends=[SentView(format_time(sent.at), str(sent.run_id), sent.delay_s) for sent in story.sends],
    )
