"""`why`: what happened to a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.place import Place, placed

if TYPE_CHECKING:
    from smartspider.views.explain import ExplanationView, GateView, RecordView, RobotsView


@click.command()
@click.argument("url")
@click.option("--run", "run_id", default=None, metavar="RUN", help="Which run.  [default: the newest]")
@placed
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def why(url: str, run_id: str | None, place: Place, *, as_json: bool) -> None:
    """Explain why a URL was or was not fetched."""
    from smartspider.cli.output import print_json

    explanation = place.do(lambda office: office.explain_url(url, run_id=run_id))
    if as_json:
        print_json(explanation)
    else:
        show(explanation)


def show(explanation: ExplanationView) -> None:
    """An explanation for people: the answer first, then what it rests on."""
    from smartspider.cli.output import tell

    tell(explanation.verdict)
    _line("run", f"{explanation.run_id} of {explanation.task} ({explanation.run_state})")
    _line("url", explanation.url)
    if explanation.canonical != explanation.url:
        _line("canonical", explanation.canonical)
    for dropped in explanation.dedup.dropped_params:
        _line("ignores", f"the parameter {dropped.name} ({dropped.rule})")
    if explanation.dedup.known_as is not None:
        _line("known as", explanation.dedup.known_as)
    _line("fingerprint", explanation.fingerprint)
    _line("scope", explanation.scope.why)
    _line("robots.txt", _robots(explanation.robots))
    if explanation.record is not None:
        _show_record(explanation.record)
    if explanation.gate is not None:
        _show_gate(explanation.gate)
    for other in explanation.others:
        body = f", body of {other.body_bytes} bytes" if other.body_bytes else ""
        _line("also", f"{other.method} {other.url}{body}: {other.state} {other.reason}".rstrip())


def _line(name: str, text: str) -> None:
    from smartspider.cli.output import tell

    tell(f"  {name:<12} {text}")


def _robots(robots: RobotsView) -> str:
    if not robots.is_obeyed:
        return "is not obeyed by this task"
    if robots.is_allowed is None:
        return "was not read"
    says = f": {robots.line}" if robots.line else ""
    return f"{'allows' if robots.is_allowed else 'forbids'} it{says}"


def _show_record(record: RecordView) -> None:
    body = f" with a body of {record.body_bytes} bytes" if record.body_bytes else ""
    if record.method != "GET" or body:
        _line("request", f"{record.method}{body}")
    _line("found", f"{record.found_at} {_source(record)}")
    _line("page type", f"{record.page}, depth {record.depth}, priority {record.priority}")
    if record.visit:
        _line("retried", f"{record.visit} times")
    if record.lease is not None:
        since = f" since {record.lease.sent_at}" if record.lease.sent_at else ""
        _line("in flight", f"with {record.lease.worker}{since}, leased until {record.lease.deadline_at}")
    if record.due_at is not None:
        _line("comes back", record.due_at)
    if record.closed_at is not None:
        _line("closed", f"{record.closed_at} as {record.state}")
    if record.target is not None:
        _line("led to", record.target)
    if record.returns:
        _line("came back", f"{record.returns} times because its worker was lost")
    for failure in record.failures:
        _line("failed", f"{failure.at} {failure.reason} after {failure.elapsed_s:.2f} s")
    for example in record.examples:
        _line("item", bytes(example).decode(errors="replace")[:200])


def _show_gate(gate: GateView) -> None:
    delay = f"a delay of {gate.delay_s:g} s (set by {gate.delay_set_by})" if gate.delay_s else "no delay"
    _line("gate", f"{gate.host}: {delay}, {gate.in_flight} of {gate.per_host} in flight")
    if gate.held_until is not None:
        _line("held", f"until {gate.held_until}: {gate.hold_reason}")
    for sent in gate.sends:
        _line("left", f"{sent.at} for {gate.host}, run {sent.run_id}, delay {sent.delay_s:g} s")


def _source(record: RecordView) -> str:
    if record.parent is not None:
        return f"on {record.parent}"
    return "by `sitemaps` of the task" if record.page.startswith("@") else "on the task (an entry URL)"
