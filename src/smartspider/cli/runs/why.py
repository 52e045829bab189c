"""`why`: explain what happened to a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, printed
from smartspider.core.plurals import count

FINISHED = ("completed", "failed", "cancelled")

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.explain import ExplanationView, GateView, RecordView, RobotsView, UsedProxyView


def print_explanation(explanation: ExplanationView) -> None:
    """Print an explanation: the verdict first, then the facts behind it."""
    print_line(explanation.verdict)
    _print_fact("run", f"{explanation.run_id} of {explanation.task} ({explanation.run_state})")
    _print_fact("url", explanation.url)
    if explanation.canonical != explanation.url:
        _print_fact("canonical", explanation.canonical)
    for dropped in explanation.dedup.dropped_params:
        _print_fact("ignores", f"the parameter {dropped.name} ({dropped.rule})")
    if explanation.dedup.known_as is not None:
        _print_fact("known as", explanation.dedup.known_as)
    _print_fact("fingerprint", explanation.fingerprint)
    _print_fact("scope", explanation.scope.why)
    _print_fact("robots.txt", _robots_text(explanation.robots))
    if explanation.left_out is not None:
        _print_fact("linked from", explanation.left_out.parent or "")
        _print_fact("left out", f"{explanation.left_out.reason} ({explanation.left_out.detail})")
    if explanation.record is not None:
        _print_record(explanation.record)
    for other in explanation.others:
        body = f", body of {count(other.body_bytes, 'byte')}" if other.body_bytes else ""
        _print_fact("also", f"{other.method} {other.url}{body}: {other.state} {other.reason}".rstrip())
    if explanation.gate is not None:
        _print_gate(explanation.gate, is_over=explanation.run_state in FINISHED)


@click.command()
@click.argument("url")
@click.option(
    "--run", "run_id", default=None, metavar="RUN", help="Id of the run.  [default: the newest run]"
)
@with_target
@printed(print_explanation, about="Print the explanation as JSON.")
def why(url: str, run_id: str | None, target: Target) -> ExplanationView:
    """Explain why a URL was or was not fetched."""

    async def explain(operations: AllOperations) -> ExplanationView:
        from smartspider.cli.runs.lookup import find_run_id

        return await operations.explain_url(url, run_id=await find_run_id(operations, run_id))

    return target.run_at(run_id, explain)


def _print_fact(name: str, text: str) -> None:
    print_line(f"  {name:<12} {text}")


def _robots_text(robots: RobotsView) -> str:
    if not robots.is_obeyed:
        return "ignored by this task"
    if robots.is_allowed is None:
        return "not fetched"
    line = f": {robots.line}" if robots.line else ""
    return f"{'allows' if robots.is_allowed else 'disallows'} it{line}"


def _print_record(record: RecordView) -> None:
    body = f" with a body of {count(record.body_bytes, 'byte')}" if record.body_bytes else ""
    if record.method != "GET" or body:
        _print_fact("request", f"{record.method}{body}")
    _print_fact("found", f"{record.found_at} {_source_text(record)}")
    _print_fact("page type", f"{record.page}, depth {record.depth}, priority {record.priority}")
    if record.visit:
        _print_fact("retried", count(record.visit, "time"))
    if record.lease is not None:
        since = f" since {record.lease.sent_at}" if record.lease.sent_at else ""
        _print_fact("in flight", f"leased by {record.lease.worker}{since} until {record.lease.deadline_at}")
    if record.due_at is not None:
        _print_fact("retry at", record.due_at)
    if record.closed_at is not None:
        _print_fact("closed", f"{record.closed_at} as {record.state}")
    if record.proxy is not None:
        _print_fact("proxy", _proxy_text(record.proxy))
    if record.cookies is not None:
        _print_fact("cookies", record.cookies)
    if record.target is not None:
        _print_fact("redirects to", record.target)
    if record.returns:
        _print_fact("returned", f"{count(record.returns, 'time')}, because the worker was lost")
    _print_outcome(record)


def _print_outcome(record: RecordView) -> None:
    """Print what the fetches of a request brought."""
    for failure in record.failures:
        through = "" if failure.proxy is None else f" through proxy {_proxy_text(failure.proxy)}"
        through += "" if failure.cookies is None else f" with cookies {failure.cookies}"
        _print_fact("failed", f"{failure.at} {failure.reason} after {failure.elapsed_s:.2f} s{through}")
    for example in record.examples:
        _print_fact("item", bytes(example).decode(errors="replace")[:200])
    for reason in record.rejects:
        _print_fact("rejected", reason[:200])


def _print_gate(gate: GateView, *, is_over: bool) -> None:
    """Print the gate of a host, and the requests to it, which are of all its URLs. The gate of a run that is
    over says nothing about it.
    """
    delay = f"a delay of {gate.delay_s:g} s (set by {gate.delay_set_by})" if gate.delay_s else "no delay"
    if not is_over:
        _print_fact("gate", f"{gate.host}: {delay}, {gate.in_flight} of {gate.per_host} in flight")
    if gate.held_until is not None:
        _print_fact("held", f"until {gate.held_until}: {gate.hold_reason}")
    if gate.sends:
        print_line(f"around that time, requests for all URLs of {gate.host}:")
    for sent in gate.sends:
        who = f"run {sent.run_id}" if sent.run_id else "a crawl in another folder"
        _print_fact("sent", f"{sent.at} by {who}, delay {sent.delay_s:g} s")


def _proxy_text(proxy: UsedProxyView) -> str:
    return f"{proxy.id} {proxy.url or '(removed)'}"


def _source_text(record: RecordView) -> str:
    if record.parent is not None:
        return f"on {record.parent}"
    return "by `sitemaps` of the task" if record.page.startswith("@") else "in the task (an entry URL)"
