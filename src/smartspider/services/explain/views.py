"""Views of requests and their gates."""

from __future__ import annotations

import msgspec

from smartspider.core.redaction import without_userinfo
from smartspider.store.diagnostics.requests import RequestDetails
from smartspider.views.explain import AttemptView, GateView, LeaseView, RecordView, SentView
from smartspider.views.times import format_time

EXAMPLE_BYTES = 20_000
"""Longer items are not shown as examples."""


def record_view(request: RequestDetails) -> RecordView:
    """Return the view of a request."""
    record = request.record
    return RecordView(
        id=str(record.id),
        run_id=str(record.run_id),
        url=without_userinfo(record.url),
        method=request.method,
        body_bytes=request.body_bytes,
        fingerprint=request.fingerprint.hex(),
        visit=request.visit,
        state=record.state,
        reason=without_userinfo(record.reason),
        status=record.status,
        page=record.page,
        depth=record.depth,
        priority=record.priority,
        attempts=record.attempts,
        returns=record.returns,
        items=record.items,
        is_entry=request.is_entry,
        parent=record.parent and without_userinfo(record.parent),
        target=record.target and without_userinfo(record.target),
        found_at=format_time(record.found_at),
        closed_at=format_time(record.closed_at),
        place=record.place,
        due_at=format_time(request.due_at),
        lease=_lease(request),
        failures=[
            AttemptView(format_time(failure.at), failure.status, failure.reason, failure.elapsed_s)
            for failure in record.failures
        ],
        examples=[msgspec.Raw(item.data) for item in request.items if len(item.data) <= EXAMPLE_BYTES],
    )


def _lease(request: RequestDetails) -> LeaseView | None:
    lease = request.lease
    if lease is None:
        return None
    return LeaseView(lease.worker, format_time(lease.sent_at), format_time(lease.deadline_at))


def gate_view(request: RequestDetails) -> GateView:
    """Return the view of the gate of a request."""
    gate = request.gate
    is_held = gate.held_until > request.now
    return GateView(
        host=gate.host,
        delay_s=gate.delay_s,
        delay_set_by=gate.set_by,
        opens_at=format_time(gate.opens_at) if gate.opens_at > request.now else None,
        held_until=format_time(gate.held_until) if is_held else None,
        hold_reason=gate.hold_reason if is_held else "",
        in_flight=gate.in_flight,
        per_host=gate.per_host,
        sends=[SentView(format_time(sent.at), str(sent.run_id), sent.delay_s) for sent in request.sends],
    )
